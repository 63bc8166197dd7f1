// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_reg_mr(3), on-demand paging (items A41 to A52): placeholders, which say so,
 * until the device reports that it can.
 */
#include "device.h"

static void odp(void)
{
	need_odp();
	FAIL("the device has on-demand paging, and this test is to be written");
}

static const struct test tests[] = {
	TEST(odp, "A41 implicit regions"),
	TEST(odp, "A42 SIZE_MAX at another address"),
	TEST(odp, "A43 unmapped at registration"),
	TEST(odp, "A44 protection of the mapping"),
	TEST(odp, "A45 invalidation"),
	TEST(odp, "A46 first access"),
	TEST(odp, "A47 offsets and lengths"),
	TEST(odp, "A48 atomics"),
	TEST(odp, "A49 iova other than the address"),
	TEST(odp, "A50 the end during faults"),
	TEST(odp, "A51 ibv_advise_mr"),
	TEST(odp, "A52 statistics"),
};

HARNESS_MAIN("ibv_reg_mr(3): on-demand paging", tests)

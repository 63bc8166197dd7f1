// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The module. Tests use the first pinion device. They run when the module is loaded, unless KUnit's
 * filter says otherwise.
 */
#include <linux/module.h>

#include "kverbs.h"

struct ib_device *kverbs_device;

/* Loaded by who knows the device's attribute wire, which only user space can read. */
bool kverbs_packets;
module_param_named(packets, kverbs_packets, bool, 0444);
MODULE_PARM_DESC(packets, "the device sends packets even to peers on this host");

static int kverbs_add(struct ib_device *device)
{
	if (kverbs_device || strncmp(dev_name(&device->dev), "pinion", 6))
		return -EOPNOTSUPP;
	kverbs_device = device;
	return 0;
}

static void kverbs_remove(struct ib_device *device, void *data)
{
	kverbs_device = NULL;
}

static struct ib_client client = {
	.name = "pinion_kverbs",
	.add = kverbs_add,
	.remove = kverbs_remove,
};

static int suite_init(struct kunit_suite *suite)
{
	int err = ib_register_client(&client);

	if (!err && !kverbs_device) {
		ib_unregister_client(&client);
		err = -ENODEV;
	}
	return err;
}

static void suite_exit(struct kunit_suite *suite)
{
	/* Also called if the init of the suite failed. */
	if (kverbs_device)
		ib_unregister_client(&client);
}

static struct kunit_suite fastreg_suite = {
	.name = "kverbs-fastreg",
	.suite_init = suite_init,
	.suite_exit = suite_exit,
	.init = fastreg_init,
	.exit = fastreg_exit,
	.test_cases = fastreg_cases,
};

static struct kunit_suite limits_suite = {
	.name = "kverbs-limits",
	.suite_init = suite_init,
	.suite_exit = suite_exit,
	.init = limits_init,
	.exit = limits_exit,
	.test_cases = limits_cases,
};

static struct kunit_suite group_suite = {
	.name = "kverbs-group",
	.suite_init = suite_init,
	.suite_exit = suite_exit,
	.init = limits_init,
	.exit = limits_exit,
	.test_cases = group_cases,
};

static struct kunit_suite completions_suite = {
	.name = "kverbs-completions",
	.suite_init = suite_init,
	.suite_exit = suite_exit,
	.init = limits_init,
	.exit = limits_exit,
	.test_cases = completions_cases,
};

kunit_test_suites(&fastreg_suite, &limits_suite, &group_suite, &completions_suite);

static int __init kverbs_init(void)
{
	return kverbs_files_init();
}

static void __exit kverbs_exit(void)
{
	kverbs_files_exit();
}

module_init(kverbs_init);
module_exit(kverbs_exit);

MODULE_DESCRIPTION("A kernel user of pinion's verbs, for tests");
MODULE_LICENSE("Dual BSD/GPL");

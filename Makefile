# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Delegates only; `make help' lists the targets.

export KDIR ?= /lib/modules/$(shell uname -r)/build
export PREFIX ?= /usr
export DESTDIR ?=
J := -j$(shell nproc)

all: module-if-headers lib tools

help:
	@sed -n 's/^#: \?//p' $(firstword $(MAKEFILE_LIST))

# On two processors; "first" is a machine that has nothing yet.
#: make demo       show the device at work, in a box        first 6 min, 1.2 GB; 15 s
#: make check      a selection of the tests, most kernels   first 60 min, 8 GB; 30 min
#: make check-all  every suite on every bed                 hours, 20 GB
#: make check-long garbage, traces and races for hours, most with KASAN: 8 hours, 6 GB;
#:                 scripts/check-long --minutes N
#: make bench      beside rxe, siw, memcpy and bare pins    first 30 min, 4 GB; 20 min
#: make style      checkpatch, W=1, sparse, clang-format, -Wextra, shellcheck, layer rules:
#:                 2 min, 4 GB
#: make kunit      the module's unit tests, with lockdep    first 9 min, 3.5 GB; 15 s
#:
#: make            the next three, as far as this machine can: 1 min, 50 MB
#: make kernel     the module against KDIR, default: the running kernel's headers
#: make lib        the provider, for the installed rdma-core; libpinion-rpma, -mlx5dv
#: make tools      mrbench, pinionctl, pinion-mr-tour
#: make box        pinion-box and its kernel, for `make install-box': first 4 min, 1 GB
#: make install    what is built of all these, by root (PREFIX, DESTDIR); builds nothing:
#:                 seconds, 50 MB
#: make install-C  one of them; C: module, dkms, provider, lib, box, tools, doc
#: make dkms       as install, but the module through DKMS: follows kernel updates
#: make uninstall  remove exactly what `make install' put there; uninstall-C: one of them
#: make deb        Debian packages of all these, in a root made for it: first 10 min, 2 GB;
#:                 1 min
#: make clean      remove build/ and what the kernel's build left
#:
#: What is made once is kept in ~/.cache/pinion (PINION_CACHE): `scripts/bed/prune' removes
#: what nothing uses any more, `rm -rf' all of it. PINION_YES=1 answers what is asked.

# make can name no file in a folder with blanks; what sets itself up works in a copy.
named = $(if $(word 2,$(CURDIR)),$(error the path of this tree has blanks: only \
	`make demo', `make check' and the like work here))

kernel:
	$(named)scripts/module $(J)

# `make' on a machine without headers still builds what pinion-box needs.
module-if-headers:
	@$(named)scripts/module --if-headers $(J)

lib: libraries
	$(MAKE) $(J) -C lib O=../build/lib provider

libraries:
	$(named)$(MAKE) $(J) -C lib O=../build/lib rpma dv

# Installed, they find the libraries where the system has them.
tools: libraries
	$(MAKE) -C tools/mrbench O=../../build/tools
	$(MAKE) -C tools/ctl O=../../build/tools if-libmnl
	$(MAKE) -C tools/record O=../../build/tools
	$(MAKE) -C tools/examples O=../../build/tools RPMA=../../build/lib/rpma DV=../../build/lib/dv RUNPATH=

box:
	scripts/box

kunit:
	scripts/check checked/kunit

demo check check-long style deb:
	scripts/$@

bench:
	scripts/bench
	scripts/bench-mr

check-all:
	scripts/check --all

install uninstall dkms:
	scripts/install --$@

components := module dkms provider lib box tools doc
$(components:%=install-%):
	scripts/install --install $(@:install-%=%)
$(components:%=uninstall-%):
	scripts/install --uninstall $(@:uninstall-%=%)

clean:
	rm -rf build
	find kernel kunit . -maxdepth 3 \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' \
		-o -name features.h -o -name '.*.cmd' -o -name '.*.o.d' -o -name modules.order -o -name Module.symvers \) \
		-not -path './.git/*' -delete

.PHONY: all help kernel module-if-headers lib libraries tools box kunit demo check check-all check-long bench style deb \
	install uninstall dkms $(components:%=install-%) $(components:%=uninstall-%) clean

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Delegates to scripts and other Makefiles; `make help' lists the targets.

export KDIR ?= /lib/modules/$(shell uname -r)/build
export PREFIX ?= /usr
export DESTDIR ?=
J := -j$(shell nproc)

all: module-if-headers lib tools

help:
	@sed -n 's/^#: \?//p' $(firstword $(MAKEFILE_LIST))

# Durations are for two processors; "first" is for a machine with an empty cache.
#: make demo       show the device at work, in a box        first 6 min, 1.2 GB; 15 s
#: make check      a selection of the tests, most kernels   30 to 70 min, 8 GB; 15 to 30
#: make check-all  every suite on every bed                 hours, 20 GB
#: make check-long fuzzers, traces and races, most with KASAN: 8 hours, 6 GB;
#:                 scripts/check-long --minutes N
#: make bench      compare with rxe, siw, memcpy, pinning   first 30 min, 4 GB; 20 min
#: make style      checkpatch, W=1, sparse, clang-format, -Wextra, shellcheck, layer rules:
#:                 2 min, 4 GB
#: make kunit      the module's unit tests, with lockdep    first 9 min, 3.5 GB; 15 s
#:
#: make            the next three, as far as possible on this machine: 1 min, 50 MB
#: make kernel     the module against KDIR, default: the running kernel's headers
#: make lib        the provider, for the installed rdma-core; libpinion-rpma, -mlx5dv
#: make tools      mrbench, pinionctl, pinion-mr-tour
#: make box        pinion-box and its kernel, for `make install-box': first 4 min, 1 GB
#: make install    install, as root, what is built (PREFIX, DESTDIR); builds nothing:
#:                 seconds, 50 MB
#: make install-C  install one component C: module, dkms, provider, lib, box, tools, doc
#: make dkms       as install, but DKMS builds the module, again after each kernel update
#: make uninstall  remove exactly what `make install' installed; uninstall-C: one component
#: make deb        Debian packages of all these, in a root made for it: first 10 min, 2 GB;
#:                 1 min
#: make clean      remove all that was built here
#:
#: Kernels, roots and downloads are kept in ~/.cache/pinion (PINION_CACHE). `scripts/bed/prune'
#: removes those that are no longer used, `rm -rf' all. PINION_YES=1 answers all questions.

# make does not support blanks in paths. Scripts that set everything up work in a copy.
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

# RUNPATH is empty: installed programs find the libraries in the system's folders.
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
	rm -rf build tools/*/*/build
	find kernel kunit . -maxdepth 3 \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' \
		-o -name features.h -o -name '.*.cmd' -o -name '.*.o.d' -o -name modules.order -o -name Module.symvers \) \
		-not -path './.git/*' -delete

.PHONY: all help kernel module-if-headers lib libraries tools box kunit demo check check-all check-long bench style deb \
	install uninstall dkms $(components:%=install-%) $(components:%=uninstall-%) clean

# perfbox: one static binary. Needs gcc or clang, make, pkg-config, and for the BPF programs clang and
# bpftool; scripts/setup installs all of it.
#
#   make                    $(O)/perfbox, static and stripped; $(O)/perfbox.debug has symbols
#   make O=DIR              build elsewhere (default: build; build/san with SAN)
#   make SAN=address,undefined   with sanitizers, glibc dynamic
#   make BPF=0              without clang and bpftool: modes that need BPF say it is not built in
#   make CC=clang V=1 WERROR=1   another compiler; show commands; warnings are errors, the linker's too
#   make check live browser fuzz fuzz-all bench update     see tests/run and scripts/bench
#   make corpus CORPUS=DIR      stacks as other tools fold them, see tests/corpus-differences.md
#   make unit replay fuzzers                       what check and fuzz run
#   make install uninstall DESTDIR= PREFIX=/usr/local

MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.SUFFIXES:

SAN ?=
BPF ?= 1
V ?= 0
WERROR ?= 0
O ?= $(if $(SAN),build/san,build)
# below this folder it is named from here, however it was given: the same flags, the same objects
override O := $(patsubst $(CURDIR)/%,%,$(abspath $(O)))
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
BPFTOOL ?= bpftool
PKG_CONFIG ?= pkg-config
STRIP ?= strip
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-8s %s\n' '$(1)' '$(2)')
# Write $@ from $@.new, but leave it alone when nothing changed: what depends on it isn't rebuilt.
keep = if cmp -s $@.new $@; then rm -f $@.new; else mv -f $@.new $@; fi

# What there is. Sorted, so that the same tree gives the same bytes.
APPLET_SOURCES := $(sort $(wildcard applets/*.c applets/*/*.c))
COMMON_SOURCES := $(sort $(wildcard common/*/*.c))
MAN := $(sort $(wildcard man/*.8))
UNITS := $(sort $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/*.c)))
FUZZERS := $(sort $(patsubst tests/fuzz/%.c,%,$(filter-out tests/fuzz/replay.c,$(wildcard tests/fuzz/*.c))))
HELPERS := $(sort $(patsubst tests/live/%.c,%,$(wildcard tests/live/*.c)))
SKELETONS := $(patsubst bpf/%.bpf.c,$(O)/gen/%.skel.h,$(sort $(wildcard bpf/*.bpf.c)))
APPLETS := $(subst _,-,$(shell sed -n 's/^APPLET(\([a-z0-9_]*\)).*/\1/p' applets/applets.def 2>/dev/null))

# How it is compiled.
OPTIMIZE := $(if $(SAN),-O1,-O2) -g
CFLAGS ?=
LDFLAGS ?=
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wvla -Wformat=2 -Wundef -Wpointer-arith -Wwrite-strings -Wimplicit-fallthrough
ifeq ($(WERROR),1)
WARNINGS += -Werror
FATAL := -Wl,--fatal-warnings
endif
# -iquote: "common/..." is ours, and <bpf/...> never finds our bpf/ instead of libbpf's.
BASE_FLAGS := -std=gnu11 $(WARNINGS) -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -iquote . -iquote $(O)/gen \
	-fno-pie -ffunction-sections -fdata-sections \
	-ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(O)=build
comma := ,
MEMORY := address,undefined
# The code a sanitizer adds makes gcc guess wrong about these two.
SANITIZE = -fsanitize=$(1) -fno-sanitize-recover=all -fno-omit-frame-pointer \
	-Wno-unknown-warning-option -Wno-maybe-uninitialized -Wno-format-truncation
LIBS := -lpcap -lbpf -ldw -lelf -lz -llzma -lbz2 -lzstd -liberty
LINK := -Wl,--gc-sections -Wl,--build-id=sha1 $(FATAL)
STATIC := -static $(LINK)
DYNAMIC := -no-pie $(LINK)
DYNAMIC_LIBS := -Wl,-Bstatic $(LIBS) -Wl,-Bdynamic -lm

# Kinds of objects, each in a folder of its own so that flags never mix: the program's, those for
# libFuzzer, and those that replay its corpus (with SAN the program's objects will do).
obj.CC := $(CC)
obj.FLAGS := $(BASE_FLAGS) $(OPTIMIZE) $(if $(SAN),$(call SANITIZE,$(SAN))) $(CFLAGS)
obj.LINK := $(if $(SAN),$(DYNAMIC) $(call SANITIZE,$(SAN)),$(STATIC)) $(LDFLAGS)
obj.LIBS := $(if $(SAN),$(DYNAMIC_LIBS),$(LIBS) -lm)
fuzz-obj.CC := $(CLANG)
fuzz-obj.FLAGS := $(BASE_FLAGS) -O1 -g $(call SANITIZE,fuzzer-no-link$(comma)$(MEMORY))
replay-obj.CC := $(CC)
replay-obj.FLAGS := $(BASE_FLAGS) -O1 -g $(call SANITIZE,$(MEMORY))
REPLAY := $(if $(SAN),obj,replay-obj)
REPLAY_SAN := $(or $(SAN),$(MEMORY))

.PHONY: all unit replay fuzzers helpers check live browser update fuzz fuzz-all bench corpus install uninstall clean FORCE
all: $(O)/perfbox

GENERATED := $(O)/gen/version.h $(SKELETONS)

define kind
$(O)/$(1)/flags: FORCE
	@mkdir -p $$(@D)
	@printf '%s\n' '$$($(1).CC) $$($(1).FLAGS)' >$$@.new; $$(keep)
$(O)/$(1)/%.o: %.c $(O)/$(1)/flags | $(GENERATED)
	$$(call say,CC,$$<)
	@mkdir -p $$(@D)
	$$(Q)$$($(1).CC) $$($(1).FLAGS) -MMD -MP -c -o $$@ $$<
$(O)/$(1)/common/stack/flamegraph_script.o: common/stack/flamegraph.css common/stack/flamegraph.js
$(1).COMMON := $(COMMON_SOURCES:%.c=$(O)/$(1)/%.o)
endef
$(foreach k,obj fuzz-obj replay-obj,$(eval $(call kind,$(k))))

# The program.
OBJECTS := $(APPLET_SOURCES:%.c=$(O)/obj/%.o) $(obj.COMMON) $(O)/gen/manpages.o

$(O)/gen/objects: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(obj.LINK) $(OBJECTS) $(obj.LIBS)' >$@.new; $(keep)

$(O)/perfbox.debug: $(OBJECTS) $(O)/gen/objects
	$(call say,LINK,$@)
	$(Q)$(CC) $(obj.LINK) -o $@ $(OBJECTS) $(obj.LIBS)

$(O)/perfbox: $(O)/perfbox.debug
	$(call say,$(if $(SAN),LINK,STRIP),$@)
	$(Q)$(if $(SAN),ln -f $< $@,$(STRIP) -o $@ $<)

# What the program knows of itself. No dates: they would change the bytes.
define version_header
version() { $(PKG_CONFIG) --modversion $$1 2>/dev/null || echo unknown; }; \
commit=$$(test -e .git && git -c safe.directory='*' describe --always --dirty --abbrev=12 \
	--exclude='*' 2>/dev/null); \
bzip2=$$(echo '#include <bzlib.h>' | $(CC) -E -CC -xc - 2>/dev/null | \
	sed -n 's/.*libbzip2 version \([0-9.]*\).*/\1/p' | sed 1q); \
echo '/* Generated by the Makefile. */'; \
echo "#define PERFBOX_VERSION \"$$(cat VERSION)\""; \
echo "#define PERFBOX_COMMIT \"$${commit:-unknown}\""; \
echo "#define LIBBPF_VERSION \"$$(version libbpf)\""; \
echo "#define ELFUTILS_VERSION \"$$(version libdw)\""; \
echo "#define LIBPCAP_VERSION \"$$(version libpcap)\""; \
echo "#define LIBZ_VERSION \"$$(version zlib)\""; \
echo "#define LIBLZMA_VERSION \"$$(version liblzma)\""; \
echo "#define LIBBZ2_VERSION \"$${bzip2:-unknown}\""; \
echo "#define LIBZSTD_VERSION \"$$(version libzstd)\""
endef

$(O)/gen/version.h: FORCE
	@mkdir -p $(@D)
	@{ $(version_header); } >$@.new; $(keep)

# The man pages inside the program, see applets/perfbox/manpages.h.
define manpages_source
echo '	.section .rodata.man_pages, "a"'; \
echo '	.balign 8'; \
echo '	.global man_pages, man_page_count'; \
echo 'man_pages:'; \
n=0; for page in $(MAN); do echo "	.dc.a name_$$n, data_$$n, end_$$n"; n=$$((n + 1)); done; \
echo 'man_page_count:'; \
echo "	.dc.a $$n"; \
n=0; for page in $(MAN); do \
	name=$${page#man/}; \
	echo "name_$$n: .asciz \"$${name%.8}\""; \
	echo "data_$$n: .incbin \"$$page\""; \
	echo "end_$$n:"; \
	n=$$((n + 1)); \
done; \
echo '	.section .note.GNU-stack, "", %progbits'
endef

$(O)/gen/manpages.s: FORCE
	@mkdir -p $(@D)
	@{ $(manpages_source); } >$@.new; $(keep)

$(O)/gen/manpages.o: $(O)/gen/manpages.s $(MAN)
	$(call say,MAN,$@)
	$(Q)$(CC) -c -o $@ $<

# BPF programs: bpf/NAME.bpf.c becomes gen/NAME.skel.h with struct NAME_bpf, NAME_bpf__open() ...
# v2: no 32-bit jumps; the verifiers of older kernels follow 64-bit bounds best.
MACHINE = $(shell $(CC) -dumpmachine)
BPF_ARCH = $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(patsubst s390x,s390,$(patsubst \
	powerpc64le,powerpc,$(patsubst riscv64,riscv,$(firstword $(subst -, ,$(MACHINE))))))))
BPF_FLAGS = -D__TARGET_ARCH_$(BPF_ARCH) -iquote . -Ibpf \
	-idirafter /usr/include/$(subst -pc,,$(subst -unknown,,$(MACHINE))) \
	-ffile-prefix-map=$(CURDIR)=.
BPF_COMPILE = $(CLANG) -target bpf -mcpu=v2 -std=gnu11 -O2 -g $(filter-out -Wundef,$(WARNINGS)) \
	-Wno-missing-prototypes -Wno-unused-parameter $(BPF_FLAGS)
BPF_STUB = $(CC) -E -std=gnu11 $(BPF_FLAGS)

ifneq ($(SKELETONS),)
$(O)/gen/bpf-flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(if $(filter 0,$(BPF)),$(BPF_STUB),$(BPF_COMPILE))' >$@.new; $(keep)
endif

ifeq ($(BPF),0)
$(O)/gen/%.skel.h: bpf/%.bpf.c scripts/skeleton-stub $(O)/gen/bpf-flags
	$(call say,STUB,$<)
	$(Q)$(BPF_STUB) -MMD -MP -MT $@ -MF $@.d $< >$@.i
	$(Q)scripts/skeleton-stub $(subst -,_,$*)_bpf <$@.i >$@.new && mv -f $@.new $@
else
$(O)/gen/%.skel.h: bpf/%.bpf.c $(O)/gen/bpf-flags
	$(call say,BPF,$<)
	$(Q)$(BPF_COMPILE) -MMD -MP -MT $@ -MF $@.d -c -o $(O)/gen/$*.tmp.o $<
	$(Q)PATH="$$PATH:/usr/sbin:/sbin" && $(BPFTOOL) gen object $(O)/gen/$*.bpf.o $(O)/gen/$*.tmp.o && \
		$(BPFTOOL) gen skeleton $(O)/gen/$*.bpf.o name $(subst -,_,$*)_bpf >$@.new && \
		mv -f $@.new $@
endif

# Tests: units and fuzz targets see common/ alone, not the applets.
unit: $(UNITS:%=$(O)/tests/unit/%)
fuzzers: $(FUZZERS:%=$(O)/fuzz/%)
replay: $(FUZZERS:%=$(O)/replay/%)
helpers: $(HELPERS:%=$(O)/tests/live/%)

define link_with_common
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(obj.LINK) -o $@ $< $(obj.COMMON) $(obj.LIBS)
endef
$(O)/tests/unit/%: $(O)/obj/tests/unit/%.o $(obj.COMMON) $(O)/gen/objects
	$(link_with_common)
# Programs that are no applets, for tests/corpus.sh, tests/browser and scripts/bench.
$(O)/tests/helper/%: $(O)/obj/tests/helper/%.o $(obj.COMMON) $(O)/gen/objects
	$(link_with_common)

# Measurements from inside: like the units, they see common/ alone.
$(O)/tests/bench/%: $(O)/obj/tests/bench/%.o $(obj.COMMON) $(O)/gen/objects
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(obj.LINK) -o $@ $< $(obj.COMMON) $(obj.LIBS)

$(O)/fuzz/%: $(O)/fuzz-obj/tests/fuzz/%.o $(fuzz-obj.COMMON)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(DYNAMIC) $(call SANITIZE,fuzzer$(comma)$(MEMORY)) -o $@ $^ $(DYNAMIC_LIBS)

$(O)/replay/%: $(O)/$(REPLAY)/tests/fuzz/%.o $(O)/$(REPLAY)/tests/fuzz/replay.o $($(REPLAY).COMMON)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(DYNAMIC) $(call SANITIZE,$(REPLAY_SAN)) -o $@ $^ $(DYNAMIC_LIBS)

# Small static programs that live tests start: they also run in guests that have nothing else.
$(O)/tests/live/%: tests/live/%.c $(O)/obj/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE_FLAGS) -O2 -fno-omit-frame-pointer -MMD -MP -MF $@.d $(STATIC) -o $@ $<

RUN = PERFBOX='$(abspath $(O))/perfbox' O='$(O)' CC='$(CC)' SAN='$(SAN)' BPF='$(BPF)'

check: all unit replay
	@$(RUN) tests/run check
# some live tests run a unit: where only root can (inside namespaces), or on what they recorded
live: all helpers $(addprefix $(O)/tests/unit/,netns sockowner perforacle)
	@$(RUN) tests/run live
browser: all $(O)/tests/helper/flamegraph
	@$(RUN) tests/run browser
update: all
	@$(RUN) tests/run update
fuzz: fuzzers
	@$(RUN) tests/run fuzz
fuzz-all: fuzzers
	@$(RUN) tests/run fuzz-all
bench: all helpers $(O)/tests/bench/owners $(O)/tests/helper/foldtext
	@$(RUN) scripts/bench
corpus: all $(O)/tests/helper/foldtext $(O)/tests/unit/perforacle
	@$(RUN) CORPUS='$(CORPUS)' sh tests/corpus.sh
	@$(RUN) CORPUS='$(CORPUS)' sh tests/corpus-perfdata.sh
	@$(RUN) CORPUS='$(CORPUS)' sh tests/corpus-dwarf.sh

# An applet is a link to the program under its name; uninstall removes only links that point to it.
install: all
	install -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(MANDIR)/man8'
	install -m 755 $(O)/perfbox '$(DESTDIR)$(BINDIR)/perfbox'
	@for a in $(APPLETS); do ln -sf perfbox '$(DESTDIR)$(BINDIR)'/$$a || exit; done
	@for page in $(MAN); do install -m 644 $$page '$(DESTDIR)$(MANDIR)/man8/' || exit; done

uninstall:
	@for a in $(APPLETS); do \
		test "$$(readlink '$(DESTDIR)$(BINDIR)'/$$a)" != perfbox || rm -f '$(DESTDIR)$(BINDIR)'/$$a; \
	done
	@for page in $(MAN); do rm -f '$(DESTDIR)$(MANDIR)'/man8/$${page#man/}; done
	rm -f '$(DESTDIR)$(BINDIR)/perfbox'

clean:
	rm -rf $(addprefix $(O)/,obj fuzz-obj replay-obj gen tests fuzz fuzz-found replay san perfbox perfbox.debug)
	@rmdir $(O) 2>/dev/null || :

FORCE:
.SECONDARY:

-include $(shell test ! -d $(O) || find $(O) -path $(O)/san -prune -o -name '*.d' -print)

# The short way in; CMake does the work. SPDX-License-Identifier: MIT
PREFIX ?= /usr/local
MAKEFLAGS += --no-print-directory
.PHONY: all demo test install html dist clean
all:
	@cmake -S . -B build -DBUILD_TESTING=OFF
	@cmake --build build --parallel $$(nproc)
demo test:
	@scripts/$@
install: all
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"
html:
	@scripts/install-packages doc
	@cmake -S . -B build -DBUILD_TESTING=OFF
	@cmake --build build --target html
dist:
	@version=$$(awk '/CRUMB_VERSION_[MP][A-Z]* [0-9]/ { v = v s $$3; s = "." } END { print v }' include/crumb.h); \
	git archive --prefix=crumb-$$version/ -o crumb-$$version.tar.gz HEAD && echo crumb-$$version.tar.gz
clean:
	rm -rf build

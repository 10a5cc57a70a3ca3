# The short way in; CMake does the work. SPDX-License-Identifier: MIT
PREFIX ?= /usr/local
MAKEFLAGS += --no-print-directory
.PHONY: all demo test install clean
all:
	@cmake -S . -B build -DBUILD_TESTING=OFF
	@cmake --build build --parallel $$(nproc)
demo test:
	@scripts/$@
install: all
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"
clean:
	rm -rf build

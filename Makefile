# Everything that is done with the project. `make` alone lists it.

PREFIX ?= /usr/local
DESTDIR ?=
PHP_CONFIG ?= php-config
TARGET := $(or $(CARGO_TARGET_DIR),target)

# What building, testing and measuring need of Debian 12.
PACKAGES := build-essential ca-certificates chromium clang curl debootstrap dovecot-imapd dovecot-pop3d \
	fonts-dejavu-core fonts-noto-color-emoji libclang-dev libprotobuf-dev libssl-dev mariadb-server nginx-light \
	php-phpstan-phpdoc-parser php8.2-cli php8.2-dev php8.2-fpm php8.2-mysql php8.2-opcache phpunit pkg-config \
	protobuf-compiler python3 python3-venv valgrind wrk

# Cargo unites the features of what is built in one call: the extension must not export the C library's symbols.
EXTENSION := -p sb-php
LIBRARY := -p sb --features capi,program
# So that Cargo keeps what both calls make of the core apart: else each would make it anew after the other. The tests look
# for the C library under its plain name.
export __CARGO_DEFAULT_LIB_METADATA := sb
CARGO_TEST := env -u __CARGO_DEFAULT_LIB_METADATA cargo test $(LIBRARY)

# Tools that are built from source, once.
TOOLS := $(TARGET)/tools
CARGO_DENY := $(TOOLS)/bin/cargo-deny
CARGO_DENY_VERSION := 0.20.2
MDBOOK := $(TOOLS)/bin/mdbook
MDBOOK_VERSION := 0.5.4
MAGO := $(TOOLS)/bin/mago
MAGO_VERSION := 1.29.0
REALTIME_SERVER := $(TOOLS)/bin/sockudo
REALTIME_SERVER_VERSION := 5.2.0

.PHONY: help deps build test test-mysql test-php84 test-package realtime-server lint analyse audit demo serve \
	examples bench docs gen package install clean

help: ## list the targets
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

deps: ## install the Debian packages that are missing (as root), or name them
	@missing=; for package in $(PACKAGES); do \
	  dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$package"; done; \
	command -v npm >/dev/null || missing="$$missing nodejs npm"; \
	if [ -z "$$missing" ]; then echo 'Every package is there.'; \
	elif [ "$$(id -u)" = 0 ]; then apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy $$missing; \
	else echo "Missing; install as root: apt-get install$$missing" >&2; exit 1; fi
	@command -v cargo >/dev/null || { echo 'Missing: Rust 1.95 or newer, https://rustup.rs' >&2; exit 1; }

build: ## build the extension, the C library and the program
	cargo build --release $(EXTENSION)
	cargo build --release $(LIBRARY)

test: deps build ## run all tests, against a private MariaDB
	tests/support/mariadb $(CARGO_TEST)
	tests/php/run
	tests/capi/run
	tests/browser/run
	tests/five-minutes
	packaging/try

test-mysql: ## run the Rust tests against a private MySQL 9, by its socket and by TCP (as root)
	tests/support/mysql9 $(CARGO_TEST)
	SB_TEST_TCP=1 tests/support/mysql9 $(CARGO_TEST)

realtime-server: $(REALTIME_SERVER) ## build a real server of the realtime protocol, which the tests then try too

# From source, without what connects several of them, which takes some minutes, once.
$(REALTIME_SERVER):
	CARGO_PROFILE_DEV_DEBUG=false cargo install --quiet --locked --debug --root $(TOOLS) \
	  --version $(REALTIME_SERVER_VERSION) --no-default-features --features local sockudo

# Only what knows PHP is built again: the rest is taken from the usual folder. PARTS are those of tests/php/run.
test-php84: deps ## run the PHP tests on PHP 8.4, from Debian 13 in a folder of its own (as root)
	cargo build --release $(LIBRARY)
	eval "$$(tests/support/php84)" && CARGO_BUILD_BUILD_DIR="$(abspath $(TARGET))" \
	  CARGO_TARGET_DIR="$(abspath $(TARGET))/php84/target" cargo build --release $(EXTENSION)
	SB_PROGRAM="$(abspath $(TARGET))/release/sb" \
	  tests/support/php84 tests/php/run "$(abspath $(TARGET))/php84/target/release/libsb_php.so" $(PARTS)

test-package: deps build ## install the Debian package in a Debian 12 of its own, with systemd, and purge it (as root)
	packaging/try-installed

lint: $(CARGO_DENY) ## check form, warnings, PHP syntax and licences
	cargo fmt --all --check
	cargo clippy --all-targets $(EXTENSION) -- -D warnings
	cargo clippy --all-targets $(LIBRARY) -- -D warnings
	git ls-files -z '*.php' | xargs -0 -n 1 php -n -l >/dev/null
	$(CARGO_DENY) --log-level error check licenses bans sources

analyse: $(MAGO) ## show the stub to a static analyser: it finds what is wrong in code, and nothing else
	tests/stub/run $(MAGO)

audit: $(CARGO_DENY) ## look the dependencies up among the known advisories, on github.com
	$(CARGO_DENY) check advisories

# From source, which takes some minutes, once; unoptimized, since it reads little.
$(CARGO_DENY):
	cargo install --quiet --locked --debug --root $(TOOLS) --version $(CARGO_DENY_VERSION) cargo-deny

$(MAGO):
	CARGO_PROFILE_DEV_DEBUG=false cargo install --quiet --locked --debug --root $(TOOLS) --version $(MAGO_VERSION) mago

demo: deps build ## a conversation between a user and an agent, from PHP to a private database and back
	examples/demo/run
	@echo; echo 'In a browser: make serve'

serve: build ## a visitor and an agent side by side in the browser, beside a private database
	examples/chat/run

examples: deps build ## build and run the examples for C, Python and Node.js (with npm)
	examples/run

bench: build ## measure against mysqli and plain PHP
	benches/run
	benches/throughput

docs: $(MDBOOK) ## build the documentation as pages: target/book
	@log=$$($(MDBOOK) build docs --dest-dir "$(abspath $(TARGET))/book" 2>&1) || { echo "$$log" >&2; exit 1; }; \
	case $$log in *WARN* | *ERROR*) echo "$$log" >&2; exit 1 ;; esac; echo '$(TARGET)/book/index.html'

# Without what only a preview needs.
$(MDBOOK):
	CARGO_PROFILE_DEV_DEBUG=false cargo install --quiet --locked --debug --root $(TOOLS) \
	  --version $(MDBOOK_VERSION) --no-default-features --features search mdbook

gen: ## write what is generated from the catalog: the PHP stub and docs/functions.md
	cargo run --quiet --release $(LIBRARY) --bin sb -- stubs

package: build ## make the Debian package, the archive for PIE and the package of the stub: target/package
	packaging/build $(TARGET)/package

# A relative DESTDIR is one of the project's folder.
ROOT = $(if $(DESTDIR),$(abspath $(DESTDIR)))

# The extension goes where PHP_CONFIG says; its ini file beside those of every kind of PHP that Debian keeps apart.
install: ## install what was built; honours DESTDIR, PREFIX and PHP_CONFIG
	@for file in libsb_php.so libsb.so sb; do \
	  [ -f $(TARGET)/release/$$file ] || { echo 'Nothing is built yet: make build' >&2; exit 1; }; done
	install -D -m 644 $(TARGET)/release/libsb_php.so "$(ROOT)$$($(PHP_CONFIG) --extension-dir)/sb.so"
	@folder=$$($(PHP_CONFIG) --ini-dir); case $$folder in \
	  */cli/conf.d) folders=$$(echo "$${folder%/cli/conf.d}"/*/conf.d) ;; *) folders=$$folder ;; esac; \
	for folder in $$folders; do \
	  mkdir -p "$(ROOT)$$folder" && echo 'extension=sb' >"$(ROOT)$$folder/20-sb.ini" \
	    && chmod 644 "$(ROOT)$$folder/20-sb.ini" && echo "$(ROOT)$$folder/20-sb.ini: extension=sb"; done
	install -D -m 644 $(TARGET)/release/libsb.so "$(ROOT)$(PREFIX)/lib/libsb.so"
	install -D -m 644 include/sb.h "$(ROOT)$(PREFIX)/include/sb.h"
	install -D -m 755 $(TARGET)/release/sb "$(ROOT)$(PREFIX)/bin/sb"
	install -d "$(ROOT)$(PREFIX)/share/man/man1"
	$(TARGET)/release/sb man "$(ROOT)$(PREFIX)/share/man/man1"
	cd include && find . -type f ! -name sb.h -exec install -D -m 644 {} "$(ROOT)$(PREFIX)/share/sb/include/{}" \;

clean: ## remove everything that was built
	cargo clean

# Cargo knows itself what is out of date. The target folder is one of this build alone: another PHP wants another library.
SB_SOURCE ?= $(srcdir)
SB_TARGET ?= $(builddir)/target

$(phplibdir)/sb.so: sb-cargo
	@mkdir -p $(phplibdir)
	cp $(SB_TARGET)/release/libsb_php.so $@

.PHONY: sb-cargo
sb-cargo:
	cd $(SB_SOURCE) && PHP=$(PHP_EXECUTABLE) PHP_CONFIG=$(PHP_CONFIG) CARGO_TARGET_DIR=$(SB_TARGET) $(CARGO) build --release -p sb-php

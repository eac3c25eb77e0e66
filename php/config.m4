dnl The extension for phpize and PIE: `phpize && ./configure && make && make install`. Cargo builds it; needed besides it
dnl are the headers of PHP and OpenSSL, and libclang.

PHP_ARG_ENABLE([sb],
  [whether to enable sb],
  [AS_HELP_STRING([--enable-sb], [Enable the extension sb])],
  [yes])

if test "$PHP_SB" != "no"; then
  AC_PATH_PROG([CARGO], [cargo], [no], [$PATH:$HOME/.cargo/bin])
  if test "$CARGO" = "no"; then
    AC_MSG_ERROR([cargo is missing: install Rust 1.95 or newer, https://rustup.rs])
  fi
  PHP_SUBST([CARGO])
  PHP_SUBST([PHP_CONFIG])
  PHP_ADD_MAKEFILE_FRAGMENT([$abs_srcdir/Makefile.frag], [$abs_srcdir], [$abs_builddir])
  PHP_MODULES="$PHP_MODULES \$(phplibdir)/sb.so"
fi

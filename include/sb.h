/* The C library of sb. Generated from src/doors/capi.rs; do not edit. */

#ifndef SB_H
#define SB_H

#include <stddef.h>

// An installation, and the connection to its database.
//
// One thread at a time may use a handle; it may move from thread to thread. Several handles may be used in parallel.
// After fork() the child makes a connection of its own.
typedef struct sb_handle sb_handle;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens an installation. It connects on the first call.
//
// config_json is a map of: db_name, db_user, db_password, db_host, db_port, db_socket, path, url, secret_key (what
// config.php defines, in upper case and with SB_ before), connect_timeout, statement_timeout, login (the active user: a
// map with id, user_type, …) and force_admin (true lifts every restriction). Returns NULL when it is no such map.
//
// # Safety
// config_json points to len bytes, or is NULL.
struct sb_handle *sb_open(const char *config_json,
                          size_t len);

// Calls a function of the library.
//
// function is its name; args_json its arguments, as a list by position or as a map by name; NULL for none. Returns
// {"ok": value} or {"error": {"code", "function", "message"}}, to be freed with sb_free. Texts that are not UTF-8 come
// with U+FFFD. NULL only when memory runs out.
//
// # Safety
// handle comes from sb_open and is not closed; function is NULL or ends with a NUL byte; args_json points to len
// bytes, or is NULL.
char *sb_call(struct sb_handle *handle,
              const char *function,
              const char *args_json,
              size_t len);

// Frees a text of sb_call. NULL is ignored.
//
// # Safety
// text comes from sb_call and is not freed yet.
void sb_free(char *text);

// Closes a handle and its connection. NULL is ignored; closing twice is undefined.
//
// # Safety
// handle comes from sb_open, is not closed yet, and no call runs on it.
void sb_close(struct sb_handle *handle);

// The version of the library, as a text that lives for ever.
const char *sb_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SB_H */

/* Calls the C library very often, and says how the memory of the process grows.
 *
 *   growth CALLS CONFIG       0 when what the last nine tenths of a million calls leave behind is less than 256 KiB */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sb.h"

/* Every kind of answer: a value, a record from the database, a code, errors of all sorts, a text that is not UTF-8. */
static const struct {
    const char *function;
    const char *arguments;
    const char *beginning;
} calls[] = {
    {"sb_isset", "[{\"a\": [1, 2.5, \"x\", null]}, \"a\"]", "{\"ok\":[1,2.5,\"x\",null]}"},
    {"sb_get_user", "[\"3\"]", "{\"ok\":{\"id\":\"3\""},
    {"sb_isset", "{\"array\": {\"b\": \"\\u00e9\"}, \"key\": \"b\"}", "{\"ok\":\"é\"}"},
    {"sb_get_user", "[\"999999\"]", "{\"ok\":false}"},
    {"sb_get_user", "{\"nobody\": 1}", "{\"error\":{\"code\":\"argument-error\""},
    {"sb_get_user", "[", "{\"error\":{\"code\":\"argument-error\""},
    {"sb_is_error", "[\"\\ud83d\\udc4b\"]", "{\"ok\":false}"},
    {"sb_no_such", "[]", "{\"error\":{\"code\":\"unknown-function\""},
    {"sb_delete_user", "[\"3\"]", "{\"error\":{\"code\":\"security-error\""},
    {"sb_json_array", "[\"{\\\"a\\\": [[[1]]]}\"]", "{\"ok\":{\"a\":[[[1]]]}}"},
};

/* The bytes of memory that the process has. */
static long resident(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1)
        exit(2);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void run(sb_handle *handle, long count)
{
    for (long i = 0; i < count; i++) {
        size_t at = (size_t)i % (sizeof calls / sizeof *calls);
        char *answer = sb_call(handle, calls[at].function, calls[at].arguments, strlen(calls[at].arguments));
        if (!answer || strncmp(answer, calls[at].beginning, strlen(calls[at].beginning))) {
            fprintf(stderr, "%s gave %s\n", calls[at].function, answer ? answer : "NULL");
            exit(1);
        }
        sb_free(answer);
    }
}

/* Handles come and go as well. */
static void open_and_close(const char *config, long count)
{
    for (long i = 0; i < count; i++) {
        sb_handle *handle = sb_open(config, strlen(config));
        if (!handle)
            exit(1);
        run(handle, 10);
        sb_close(handle);
    }
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    long all = atol(arguments[1]), warm = all / 10;
    sb_handle *handle = sb_open(arguments[2], strlen(arguments[2]));
    if (!handle)
        return 1;
    run(handle, warm);
    open_and_close(arguments[2], warm / 1000);
    long before = resident();
    run(handle, all - warm);
    open_and_close(arguments[2], (all - warm) / 1000);
    long grown = resident() - before;
    printf("%ld calls, %ld handles: %ld KiB more, %.3f bytes a call\n", all, all / 1000, grown / 1024,
        (double)grown / (double)(all - warm));
    sb_close(handle);
    /* Of few calls, or under a tool that keeps what is freed, memory tells nothing. A block that one call in ten leaves
     * behind would be 1.4 MiB of a million. */
    return all < 1000000 || grown < 256 * 1024 ? 0 : 1;
}

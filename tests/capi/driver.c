/* Calls the C library as a program of its own would.
 *
 * It reads commands line by line, their parts separated by tabs, which JSON text never holds:
 *   open CONFIG | call FUNCTION ARGUMENTS | close
 * and prints a line for the first two: what came of them. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sb.h"

int main(void)
{
    sb_handle *handle = NULL;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;

    while ((length = getline(&line, &room, stdin)) > 0) {
        if (line[length - 1] == '\n')
            line[--length] = '\0';
        char *first = strchr(line, '\t');
        if (first)
            *first++ = '\0';

        if (!strcmp(line, "open") && first) {
            handle = sb_open(first, strlen(first));
            puts(handle ? "open" : "NULL");
        } else if (!strcmp(line, "call") && first) {
            char *arguments = strchr(first, '\t');
            if (!arguments)
                return 2;
            *arguments++ = '\0';
            char *answer = sb_call(handle, first, arguments, strlen(arguments));
            puts(answer ? answer : "NULL");
            sb_free(answer);
        } else if (!strcmp(line, "close")) {
            break;
        } else {
            return 2;
        }
        fflush(stdout);
    }
    sb_close(handle);
    free(line);
    return 0;
}

/* A user signs up, writes, and reads what was written, through the C library.
 *
 *   cc conversation.c -lsb -o conversation && ./conversation '{"db_name": …, "db_user": …, …}' */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sb.h>

/* Calls a function with JSON arguments, and ends the program when it answers with an error. Free the answer. */
static char *call(sb_handle *handle, const char *function, const char *format, ...)
{
    char arguments[1024];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(arguments, sizeof arguments, format, values);
    va_end(values);
    if (length < 0 || (size_t)length >= sizeof arguments) {
        fputs("the arguments are too long\n", stderr);
        exit(1);
    }
    char *answer = sb_call(handle, function, arguments, (size_t)length);
    if (!answer || strncmp(answer, "{\"ok\":", 6)) {
        fprintf(stderr, "%s failed: %s\n", function, answer ? answer : "no memory");
        exit(1);
    }
    return answer;
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fputs("usage: conversation CONFIG\n", stderr);
        return 2;
    }
    sb_handle *handle = sb_open(arguments[1], strlen(arguments[1]));
    if (!handle) {
        fputs("the configuration is no map in JSON\n", stderr);
        return 1;
    }
    printf("sb %s\n", sb_version());

    /* Arguments by position: a list. Texts such as names belong into a JSON library; these are plain. */
    unsigned user, conversation;
    char *answer = call(handle, "sb_add_user", "[{\"first_name\": \"Ann\", \"email\": \"ann@example.com\"}]");
    if (sscanf(answer, "{\"ok\":\"%u\"}", &user) != 1) {
        /* A code of the contract, such as duplicate-email, is a value. */
        fprintf(stderr, "sb_add_user gave %s\n", answer);
        return 1;
    }
    sb_free(answer);

    answer = call(handle, "sb_new_conversation", "[\"%u\", 2, \"Where is my order?\"]", user);
    const char *id = strstr(answer, "\"id\":\"");
    if (!id || sscanf(id, "\"id\":\"%u\"", &conversation) != 1) {
        fprintf(stderr, "sb_new_conversation gave %s\n", answer);
        return 1;
    }
    sb_free(answer);

    /* Arguments by name: a map. */
    sb_free(call(handle, "sb_send_message",
        "{\"sender_id\": \"%u\", \"conversation_id\": \"%u\", \"message\": \"Hello! \\ud83d\\udc4b\"}", user, conversation));

    answer = call(handle, "sb_get_new_messages", "[\"%u\", \"%u\", 0]", user, conversation);
    printf("%s\n", answer);
    sb_free(answer);

    sb_close(handle);
    return 0;
}

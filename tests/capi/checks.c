/* What the C library promises beyond the functions: wrong pointers, forks and threads.
 *
 *   checks NAME CONFIG        0 when the promise holds; else it says where it does not */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sb.h"

static const char *config;

#define CHECK(truth) \
    do { \
        if (!(truth)) { \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #truth); \
            exit(1); \
        } \
    } while (0)

#define USER "[\"3\"]"
#define CONNECTION "[\"SELECT CONNECTION_ID() AS id\"]"

static sb_handle *opened(void)
{
    sb_handle *handle = sb_open(config, strlen(config));
    CHECK(handle != NULL);
    return handle;
}

/* Whether the answer of a call begins with a text. */
static int answers(sb_handle *handle, const char *function, const char *arguments, const char *beginning)
{
    char *answer = sb_call(handle, function, arguments, arguments ? strlen(arguments) : 0);
    CHECK(answer != NULL);
    int same = !strncmp(answer, beginning, strlen(beginning));
    if (!same)
        fprintf(stderr, "%s gave %s\n", function ? function : "NULL", answer);
    sb_free(answer);
    return same;
}

static void null_handle(void)
{
    CHECK(answers(NULL, "sb_get_user", USER, "{\"error\":{\"code\":\"argument-error\",\"function\":\"sb_get_user\""));
}

static void null_function(void)
{
    sb_handle *handle = opened();
    CHECK(answers(handle, NULL, USER, "{\"error\":{\"code\":\"unknown-function\""));
    CHECK(answers(NULL, NULL, NULL, "{\"error\":{\"code\":\"unknown-function\""));
    sb_close(handle);
}

static void unknown_function(void)
{
    sb_handle *handle = opened();
    CHECK(answers(handle, "sb_no_such", "[]", "{\"error\":{\"code\":\"unknown-function\",\"function\":\"sb_no_such\""));
    CHECK(answers(handle, "SB_GET_USER", USER, "{\"error\":{\"code\":\"unknown-function\""));
    CHECK(answers(handle, "sb_get_user\xff", USER, "{\"error\":{\"code\":\"unknown-function\""));
    sb_close(handle);
}

static void null_arguments(void)
{
    sb_handle *handle = opened();
    /* NULL is no arguments, whatever the length says. */
    char *answer = sb_call(handle, "sb_get_active_user_ID", NULL, 1000);
    CHECK(!strcmp(answer, "{\"ok\":false}"));
    sb_free(answer);
    answer = sb_call(handle, "sb_get_user", NULL, (size_t)-1);
    CHECK(strstr(answer, "\"code\":\"argument-error\""));
    sb_free(answer);
    sb_close(handle);
}

static void wrong_length(void)
{
    sb_handle *handle = opened();
    /* A length is believed, not the NUL byte: what lies behind it is not read. */
    char *answer = sb_call(handle, "sb_get_user", "[\"3\"], and more", strlen(USER));
    CHECK(!strncmp(answer, "{\"ok\":{\"id\":\"3\"", 14));
    sb_free(answer);
    answer = sb_call(handle, "sb_get_user", USER, 2);
    CHECK(strstr(answer, "\"code\":\"argument-error\""));
    sb_free(answer);
    answer = sb_call(handle, "sb_get_user", USER, (size_t)-1);
    CHECK(strstr(answer, "\"code\":\"argument-error\""));
    sb_free(answer);
    sb_close(handle);
}

static void invalid_json(void)
{
    static const char *const none[] = {"", "{", "[", "nonsense", "1", "\"a\"", "null", "true", "[1]]", "[\"\\ud800\"]",
        "{\"user_id\":}", "[\"\xff\"]"};
    sb_handle *handle = opened();
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CHECK(answers(handle, "sb_get_user", none[i], "{\"error\":{\"code\":\"argument-error\""));
    /* Nested far deeper than anything that is meant. */
    size_t depth = 1000000;
    char *deep = malloc(depth + 1);
    memset(deep, '[', depth);
    deep[depth] = '\0';
    CHECK(answers(handle, "sb_get_user", deep, "{\"error\":{\"code\":\"argument-error\""));
    free(deep);
    CHECK(answers(handle, "sb_get_user", USER, "{\"ok\":{\"id\":\"3\""));
    sb_close(handle);
}

static void unreadable_configuration(void)
{
    CHECK(sb_open(NULL, 0) == NULL);
    CHECK(sb_open(NULL, 1000) == NULL);
    CHECK(sb_open("", 0) == NULL);
    CHECK(sb_open("{", 1) == NULL);
    CHECK(sb_open("[]", 2) == NULL);
    CHECK(sb_open("\"a\"", 3) == NULL);
    CHECK(sb_open(config, (size_t)-1) == NULL);
}

static void missing_configuration(void)
{
    sb_handle *handle = sb_open("{}", 2);
    CHECK(handle != NULL);
    CHECK(answers(handle, "sb_get_user", USER, "{\"error\":{\"code\":\"configuration\",\"function\":\"sb_get_user\""));
    CHECK(answers(handle, "sb_isset", "[{\"a\":1},\"a\"]", "{\"ok\":1}"));
    sb_close(handle);
}

static void nothing_to_free(void)
{
    sb_free(NULL);
    sb_close(NULL);
    sb_close(opened());
}

static void version(void)
{
    CHECK(sb_version() == sb_version());
    CHECK(strlen(sb_version()) >= 5 && strchr(sb_version(), '.'));
}

static void authority(void)
{
    /* Only the truth value lifts restrictions. */
    static const char *const not_true[] = {"1", "\"true\"", "\"1\"", "[]", "null", "false"};
    size_t length = strlen(config);
    char *text = malloc(length + 200);
    for (size_t i = 0; i <= sizeof not_true / sizeof *not_true; i++) {
        int forced = i == sizeof not_true / sizeof *not_true;
        sprintf(text, "%.*s,\"login\":{\"id\":\"3\",\"user_type\":\"user\"},\"force_admin\":%s}", (int)length - 1, config,
            forced ? "true" : not_true[i]);
        sb_handle *handle = sb_open(text, strlen(text));
        CHECK(handle != NULL);
        CHECK(answers(handle, "sb_get_conversation", "[\"4\",\"4\"]",
            forced ? "{\"ok\":{\"messages\":[" : "{\"error\":{\"code\":\"security-error\""));
        sb_close(handle);
    }
    free(text);
}

/* The connection that a handle has, as the server counts them. */
static long connection(sb_handle *handle)
{
    char *answer = sb_call(handle, "sb_db_get", CONNECTION, strlen(CONNECTION));
    long id = 0;
    CHECK(sscanf(answer, "{\"ok\":{\"id\":\"%ld\"}}", &id) == 1);
    sb_free(answer);
    return id;
}

static void fork_of_its_own(void)
{
    sb_handle *handle = opened();
    long before = connection(handle);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            CHECK(connection(handle) != before);
            CHECK(answers(handle, "sb_get_user", USER, "{\"ok\":{\"id\":\"3\""));
            sb_close(handle);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    /* Neither the children's calls nor their ends touched the parent's. */
    CHECK(connection(handle) == before);
    sb_close(handle);
}

static void *hundred_calls(void *number)
{
    sb_handle *handle = opened();
    long own = connection(handle);
    for (int i = 0; i < 100; i++) {
        CHECK(connection(handle) == own);
        CHECK(answers(handle, "sb_get_user", USER, "{\"ok\":{\"id\":\"3\""));
    }
    sb_close(handle);
    *(long *)number = own;
    return NULL;
}

static void two_handles_in_two_threads(void)
{
    pthread_t threads[2];
    long connections[2];
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, hundred_calls, &connections[i]) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(connections[0] != connections[1]);
}

static void *one_call(void *handle)
{
    CHECK(answers(handle, "sb_get_user", USER, "{\"ok\":{\"id\":\"3\""));
    return NULL;
}

static void from_thread_to_thread(void)
{
    sb_handle *handle = opened();
    long before = connection(handle);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, one_call, handle) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    CHECK(connection(handle) == before);
    sb_close(handle);
}

static const struct {
    const char *name;
    void (*check)(void);
} checks[] = {
    {"a NULL handle is an error", null_handle},
    {"a NULL function is an error", null_function},
    {"an unknown function is an error", unknown_function},
    {"NULL arguments are none, whatever their length", null_arguments},
    {"a length is believed", wrong_length},
    {"arguments that are no list and no map in JSON are an error", invalid_json},
    {"a configuration that is no map in JSON opens nothing", unreadable_configuration},
    {"a configuration without a database is an error of the call", missing_configuration},
    {"NULL is closed and freed", nothing_to_free},
    {"the version is a text", version},
    {"only true forces admin", authority},
    {"after fork the child gets its own connection", fork_of_its_own},
    {"two handles run in two threads", two_handles_in_two_threads},
    {"a handle moves from thread to thread", from_thread_to_thread},
};

int main(int count, char **arguments)
{
    const size_t all = sizeof checks / sizeof *checks;
    if (count == 1)
        for (size_t i = 0; i < all; i++)
            puts(checks[i].name);
    if (count != 3)
        return count != 1;
    config = arguments[2];
    for (size_t i = 0; i < all; i++)
        if (!strcmp(checks[i].name, arguments[1])) {
            checks[i].check();
            return 0;
        }
    return 2;
}

/* pq_error.c: turns messages of the server and of libpq into a kolk_error. */
#include "pq_inside.h"

#include <string.h>

void kolk_pq_say_(kolk_error *error, kolk_pq_cause cause, const char *message) {
    static const char place[] = "LOCATION:";
    size_t length = 0;
    error->code = (int32_t)cause;
    for (const char *at = message; *at && length + 1 < sizeof error->text; at++) {
        if (strncmp(at, place, sizeof place - 1) == 0) at += strcspn(at, "\n");
        bool blank = strchr(" \t\n", *at) != NULL; /* or its end */
        if (!blank) error->text[length++] = *at;
        if (!*at) break;
        if (blank && length > 0 && error->text[length - 1] != ' ') error->text[length++] = ' ';
    }
    while (length > 0 && error->text[length - 1] == ' ') length--;
    error->text[length] = 0;
}

/* Asks for a verbose message, because only that contains the SQLSTATE. */
void kolk_pq_say_result_(kolk_error *error, kolk_pq_cause cause, const PGresult *result) {
    char *words = PQresultVerboseErrorMessage(result, PQERRORS_VERBOSE, PQSHOW_CONTEXT_NEVER);
    kolk_pq_say_(error, cause, words ? words : PQresultErrorMessage(result));
    PQfreemem(words);
}

kolk_pq_cause kolk_pq_cause_of_(const char *state) {
    if (strncmp(state, "28", 2) == 0) return KOLK_PQ_AUTHENTICATION;
    if (strncmp(state, "53300", 5) == 0) return KOLK_PQ_TOO_MANY;
    if (strncmp(state, "57P03", 5) == 0) return KOLK_PQ_STARTING_UP;
    if (strncmp(state, "57014", 5) == 0) return KOLK_PQ_TIMEOUT;
    return KOLK_PQ_OTHER;
}

bool kolk_pq_is_state_(const PGresult *result, const char *state) {
    const char *is = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    return is && strcmp(is, state) == 0;
}

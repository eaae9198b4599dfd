/* pq_statements.c: a connection's prepared statements. A program has some dozens of them, so an array is enough. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strdup */
#endif

#include "pq_inside.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a (Fowler, Noll, Vo, 1991). */
static uint64_t hash_of(const char *text) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

pq_statement *kolk_pq_find_statement_(const pq_connection *connection, const char *name) {
    for (size_t i = 0; i < connection->count; i++)
        if (strcmp(connection->statements[i].name, name) == 0) return &connection->statements[i];
    return NULL;
}

bool kolk_pq_statement_is_(const pq_statement *statement, const char *sql) {
    return statement->text == hash_of(sql);
}

/* If memory runs out, the statement is not recorded, and preparing it again fails at the server as a duplicate. */
void kolk_pq_note_statement_(pq_connection *connection, const char *name, const char *sql) {
    if (connection->count == connection->room) {
        size_t room = connection->room * 2 + 8;
        pq_statement *more = realloc(connection->statements, room * sizeof *more);
        if (!more) return;
        connection->statements = more;
        connection->room = room;
    }
    char *copy = strdup(name);
    if (copy) connection->statements[connection->count++] = (pq_statement){.name = copy, .text = hash_of(sql)};
}

void kolk_pq_forget_statement_(pq_connection *connection, pq_statement *statement) {
    free(statement->name);
    *statement = connection->statements[--connection->count];
}

void kolk_pq_forget_statements_(pq_connection *connection) {
    while (connection->count > 0) kolk_pq_forget_statement_(connection, connection->statements);
}

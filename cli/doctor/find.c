/* find.c: formats the sentence of a finding. */
#include "doctor.h"

#include <stdarg.h>
#include <stdio.h>

void doctor_find(doctor_finding *finding, doctor_answer answer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    for (char *at = finding->text; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f) *at = ' ';
    finding->answer = answer;
}

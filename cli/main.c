/* main.c: the verbs of the kolk command. */
#include "cli.h"

int main(int argc, char **argv) {
    static const cli_verb *const verbs[] = {&cli_demo,        &cli_record, &cli_replay, &cli_advise, &cli_report,
                                            &cli_run_program, &cli_top,    &cli_soak,   NULL};
    return cli_run(verbs, argc, argv);
}

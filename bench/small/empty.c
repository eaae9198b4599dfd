/* What a program takes without kolk. */
int main(void) {
    return 0;
}

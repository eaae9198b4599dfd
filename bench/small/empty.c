/* The size of a program without kolk. */
int main(void) {
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// dlsym for a program that runs with the simulated card: what jit_library.cpp has in the place of a function, and
// otherwise the C library's own, which takes its return address for who asks (RTLD_NEXT means "after me"), so it
// is jumped to. A compiler cannot be told to make that.
#if defined(__x86_64__)

extern "C" __attribute__((visibility("default"), naked)) void* dlsym(void*, const char*) noexcept {
  asm(R"(
    endbr64
    push %rdi
    push %rsi
    sub $8, %rsp
    call heddle_replacement
    cmp $1, %rax
    je 2f
    test %rax, %rax
    jne 1f
    call heddle_real_dlsym
    add $8, %rsp
    pop %rsi
    pop %rdi
    jmp *%rax
  2:
    xor %eax, %eax
  1:
    add $24, %rsp
    ret
  )");
}

#endif

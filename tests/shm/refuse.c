/* Runs a program to which the system refuses what memory of a node's ranks is made of.
 *
 *   refuse memory PROGRAM ARGUMENT...   no memory without a name (memfd_create: ENOSYS)
 *   refuse others PROGRAM ARGUMENT...   rank 1 may not look at the descriptors of other processes
 *
 * As a sandbox does it, which may also stand around a program that knows nothing of it.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuse(unsigned number, unsigned error) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!rank) rank = getenv("PMI_RANK");
  int failed = 0;
  if (strcmp(argv[1], "memory") == 0) {
    failed = refuse(SYS_memfd_create, ENOSYS);
  } else if (rank && strcmp(rank, "1") == 0) {
#ifdef SYS_readlink
    failed = refuse(SYS_readlink, EACCES);
#endif
    failed = failed || refuse(SYS_readlinkat, EACCES);
  }
  if (failed) {
    perror("refuse: seccomp");
    return 77;
  }
  execvp(argv[2], argv + 2);
  perror(argv[2]);
  return 2;
}

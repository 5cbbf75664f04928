#!/bin/sh
# usage: completion_test.sh FOREBAY bash|zsh|fish: the shell accepts the script, and completes a
# command and an option with it.
forebay=$1 shell=$2
"$forebay" completion "$shell" >script || exit 1
expect() { # expect WHAT: it is among what standard input gives
  tr '[:space:]' '\n' | grep -qx -e "$1" || {
    echo "$shell does not complete $1"
    exit 1
  }
}
case $shell in
bash)
  cat >try <<'BASH'
. ./script
COMP_WORDS=(forebay co) COMP_CWORD=1; _forebay; echo "${COMPREPLY[@]}"
COMP_WORDS=(forebay convert --ver) COMP_CWORD=2; _forebay; echo "${COMPREPLY[@]}"
BASH
  bash try >out || exit 1
  ;;
zsh)
  # The completion system itself needs a terminal, so its two functions are replaced.
  cat >try <<'ZSH'
compdef() { :; }
_describe() { print -lr -- ${(P)2} | cut -d: -f1; }
_arguments() { print -lr -- "$@" | cut -d'[' -f1; }
. ./script
words=(forebay co) CURRENT=2; _forebay
words=(forebay convert --ver) CURRENT=3; _forebay
ZSH
  zsh -f try >out || exit 1
  ;;
fish)
  HOME=$PWD fish --no-config -c '. ./script
    complete -C "forebay co"
    complete -C "forebay convert --ver"' >out || exit 1
  ;;
esac
expect convert <out
expect --verify <out

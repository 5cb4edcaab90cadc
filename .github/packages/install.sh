#!/bin/sh
# Installs acp-registry {version} for this user: downloads the archive of this system, compares its digest with the one in
# this file, and puts the program into $ACP_REGISTRY_INSTALL_DIR, else $XDG_BIN_HOME, else ~/.local/bin. It needs no root.
# ACP_REGISTRY_INSTALL_FROM names a mirror of {address}.
set -eu

digests='{digests}'

fail() {
  printf 'error: %s\n' "$1" >&2
  [ -z "${2-}" ] || printf 'help: %s\n' "$2" >&2
  exit 1
}

has() { command -v "$1" > /dev/null 2>&1; }

platform() {
  system=$(uname -s) machine=$(uname -m)
  # A translated shell on Apple silicon says x86_64.
  if [ "$system-$machine" = Darwin-x86_64 ] && [ "$(sysctl -n sysctl.proc_translated 2> /dev/null)" = 1 ]; then
    machine=arm64
  fi
  case $machine in amd64) machine=x86_64 ;; arm64) machine=aarch64 ;; esac
  case $system in
    Linux) system=linux ;;
    Darwin) system=darwin ;;
    MINGW* | MSYS* | CYGWIN*) fail 'this is Windows' 'run install.ps1 in PowerShell' ;;
  esac
  printf '%s-%s' "$system" "$machine"
}

# Plain HTTP is for tests and mirrors on this machine. From another machine, the answer could be forged.
allow() {
  case $1 in
    https://?*) return ;;
    http://*) ;;
    *) fail "$1 is not an address that begins with https://" ;;
  esac
  host=${1#http://} host=${host%%[/?#]*}
  case $host in
    \[::1\] | \[::1\]:*[0-9]) return ;;
    *@* | *\\*) ;;
    *) case ${host%:*} in localhost | 127.0.0.1) return ;; esac ;;
  esac
  fail "$1 is not encrypted" 'use an address that begins with https://'
}

download() {
  if has curl; then
    # Only to the same kind of address, or to an encrypted one.
    case $1 in https:*) kind='=https' ;; *) kind='=http,https' ;; esac
    curl --fail --silent --show-error --location --proto "$kind" --proto-redir '=https' --connect-timeout 30 \
      --speed-limit 1 --speed-time 60 --retry 2 --output "$2" "$1"
  elif has wget; then
    wget -q -T 60 -O "$2" "$1"
  else
    fail 'neither curl nor wget is installed' 'install one of them'
  fi
}

digest() {
  if has sha256sum; then
    sha256sum "$1"
  elif has shasum; then
    shasum -a 256 "$1"
  elif has openssl; then
    openssl dgst -sha256 -r "$1"
  else
    fail 'neither sha256sum nor shasum nor openssl is installed' 'install one of them'
  fi
}

in_path() {
  case ":$PATH:" in
    *":$1:"*) ;;
    *)
      case ${SHELL-} in
        */fish) line="fish_add_path '$1'" file='' ;;
        */zsh) line="export PATH=\"$1:\$PATH\"" file=' to ~/.zshrc' ;;
        *) line="export PATH=\"$1:\$PATH\"" file=' to ~/.profile' ;;
      esac
      printf '%s is not in PATH; %s:\n  %s\n' "$1" "${file:+add this line$file}${file:-run this}" "$line"
      return
      ;;
  esac
  found=$(command -v acp-registry || true)
  [ "$found" = "$1/acp-registry" ] || printf 'note: %s comes first in PATH\n' "$found"
}

# Called in the last line, so that nothing runs if this file was cut off.
main() {
  [ $# = 0 ] || fail "there are no arguments: $*" 'set ACP_REGISTRY_INSTALL_DIR to install into another directory'
  from=${ACP_REGISTRY_INSTALL_FROM:-'{address}'}
  allow "$from"
  platform=$(platform)
  expected=$(printf '%s\n' "$digests" | sed -n "s/^$platform //p")
  [ -n "$expected" ] || fail "there is no archive for $platform" 'build the program from its sources, with Rust'
  folder=${ACP_REGISTRY_INSTALL_DIR:-${XDG_BIN_HOME:-}}
  if [ -z "$folder" ]; then
    [ -n "${HOME-}" ] || fail 'HOME is not set' 'set ACP_REGISTRY_INSTALL_DIR'
    folder=$HOME/.local/bin
  fi
  case $folder in /*) ;; *) folder=$(pwd)/$folder ;; esac
  other='set ACP_REGISTRY_INSTALL_DIR to another directory'
  mkdir -p "$folder" || fail "$folder cannot be created" "$other"
  [ ! -d "$folder/acp-registry" ] || fail "$folder/acp-registry is a directory" "$other"
  # In the same directory, so that the program is replaced in one step.
  new=$(mktemp -d "$folder/.acp-registry.XXXXXX") || fail "$folder cannot be written to" "$other"
  trap 'rm -rf "$new"' EXIT
  trap 'exit 1' HUP INT TERM

  name=acp-registry-{version}-$platform.tar.gz
  download "$from/$name" "$new/archive" || fail "$from/$name cannot be downloaded"
  actual=$(digest "$new/archive") actual=${actual%% *}
  [ "$actual" = "$expected" ] || fail "$from/$name has the digest $actual, not $expected; nothing was installed"
  tar -xzf "$new/archive" -C "$new" ./acp-registry
  told=$("$new/acp-registry" --version) || fail "the program does not start here, from $folder" "$other"
  mv -f "$new/acp-registry" "$folder/acp-registry"
  printf 'installed %s as %s/acp-registry\n' "$told" "$folder"
  in_path "$folder"
}

main "$@"

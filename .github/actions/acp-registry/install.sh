#!/usr/bin/env bash
# `find` says which acp-registry the following steps get, and `install` installs it: built from the sources beside this action,
# from a release, or built from another commit of its repository. GitHub must attest that the release workflow of the repository
# built a release from the tag of its version.
set -euo pipefail

fail() {
  echo "::error::$1"
  exit 1
}

root=$(cd "$(dirname "$0")/../../.." && pwd)
place=${RUNNER_TEMP:?}/acp-registry
mkdir -p "$place/bin"

setting() {
  [ ! -f "$root/.github/acp-registry.env" ] || sed -n "s/^$1=//p" "$root/.github/acp-registry.env" | tr -d '\r' | head -n 1
}

build() {
  cargo install --quiet --locked --profile quick --path "$1" --root "$place"
}

if [ -z "${VERSION:-}" ] && grep -qs '^name = "acp-registry"$' "$root/Cargo.toml"; then
  version=
else
  repository=${REPOSITORY:-$(setting REPOSITORY)}
  repository=${repository:-${ACTION_REPOSITORY:-}}
  version=${VERSION:-$(setting VERSION)}
  if [ -z "$repository" ] && [ "${OPTIONAL:-}" = true ]; then
    echo "::notice::nothing was done: say in .github/acp-registry.env where acp-registry is: REPOSITORY=OWNER/NAME"
    echo ready=false >> "${GITHUB_OUTPUT:?}"
    exit
  fi
  [[ $repository =~ ^[A-Za-z0-9-]+/[A-Za-z0-9._-]+$ ]] || fail "say in .github/acp-registry.env where acp-registry is: REPOSITORY=OWNER/NAME"
  [[ $version =~ ^[0-9A-Za-z][0-9A-Za-z._+/-]*$ && $version != *..* ]] \
    || fail "say in .github/acp-registry.env which acp-registry is used: VERSION=v1.0.0, or a branch or commit from which it is built"
fi
release='^v[0-9][0-9A-Za-z.+-]*$'

if [ "$1" = find ]; then
  if [ -n "$version" ] && ! [[ $version =~ $release ]]; then
    commit=$version
    [[ $version =~ ^[0-9a-f]{40}$ ]] || commit=$(git ls-remote "${GITHUB_SERVER_URL:?}/$repository" \
      | awk -v name="$version" '$2 == "HEAD" && name == "HEAD" || $2 == "refs/heads/" name || $2 == "refs/tags/" name { if (!found++) print $1 }')
    [ -n "$commit" ] || fail "there is no $version in $repository; correct VERSION in .github/acp-registry.env"
    echo "commit=$commit" >> "${GITHUB_OUTPUT:?}"
  fi
  echo ready=true >> "${GITHUB_OUTPUT:?}"
  exit
fi

if [ -z "$version" ]; then
  build "$root"
elif [[ $version =~ $release ]]; then
  case ${RUNNER_OS:?}-${RUNNER_ARCH:?} in
    Linux-X64) platform=linux-x86_64 ;;
    Linux-ARM64) platform=linux-aarch64 ;;
    macOS-X64) platform=darwin-x86_64 ;;
    macOS-ARM64) platform=darwin-aarch64 ;;
    Windows-X64) platform=windows-x86_64 ;;
    Windows-ARM64) platform=windows-aarch64 ;;
    *) fail "there is no release of acp-registry for $RUNNER_OS on $RUNNER_ARCH" ;;
  esac
  ending=tar.gz
  [ "$RUNNER_OS" != Windows ] || ending=zip
  archive=$RUNNER_TEMP/acp-registry-${version#v}-$platform.$ending
  address=${GITHUB_SERVER_URL:?}/$repository/releases/download/$version/$(basename "$archive")
  curl --fail --silent --show-error --location --proto =https --retry 3 --output "$archive" "$address"
  # Archives of other versions are attested as well, but for their own tags.
  gh attestation verify "$archive" --repo "$repository" \
    --signer-workflow "$repository/.github/workflows/release.yml" --source-ref "refs/tags/$version"
  if [ "$ending" = zip ]; then
    unzip -q -o "$archive" -d "$place/bin"
  else
    tar -xzf "$archive" -C "$place/bin"
  fi
  installed=$("$place/bin/acp-registry" --version)
  [ "$installed" = "acp-registry ${version#v}" ] || fail "the archive of $version holds $installed"
elif ! [ -x "$place/bin/acp-registry" ]; then
  # It was not in the cache.
  source=$RUNNER_TEMP/acp-registry-source
  git init --quiet "$source"
  git -C "$source" fetch --quiet --depth 1 "${GITHUB_SERVER_URL:?}/$repository" "${COMMIT:?}"
  git -C "$source" checkout --quiet FETCH_HEAD
  build "$source"
fi
echo "$place/bin" >> "${GITHUB_PATH:?}"

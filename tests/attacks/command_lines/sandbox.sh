# Runs the program $1... in a separate root folder, $0, with the fixtures of $FIXTURES.
set -e
root=$0
share() {  # a folder of the system, read-only
  mkdir -p "$root$1"
  mount --rbind "$1" "$root$1"
  mount --make-rslave "$root$1"
  mount -o remount,bind,ro "$root$1"
}
mount -t tmpfs -o size=512m,mode=755 none "$root"
for entry in /*; do
  if [ -L "$entry" ]; then cp -P "$entry" "$root$entry"; continue; fi
  [ -d "$entry" ] || continue
  mkdir "$root$entry"
  case $entry in
    /etc) cp -a /etc/. "$root/etc" ;;
    /proc) mount -t proc none "$root/proc" ;;
    /dev|/tmp|/sys|/mnt|/media) ;;
    *) share "$entry" ;;
  esac
done
for device in null zero full random urandom; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir -m 1777 "$root/dev/shm"
chmod 1777 "$root/tmp"
[ -e "$root$1" ] || share "$1"  # a checkout below a folder that is empty here, such as /tmp
mkdir "$root/fixtures" "$root/readonly" "$root/small" "$root/home"  2>/dev/null || true
cp -a "$FIXTURES/." "$root/fixtures"
mount -t tmpfs -o size=4k none "$root/small"
mount -t tmpfs -o ro none "$root/readonly"
# Numba stores compiled code next to the modules, so that their folder must be writable.
mount -t tmpfs none "$root$1/pqchain"
cp -a "$1/pqchain/." "$root$1/pqchain"
cd "$root"
exec chroot "$root" sh -c 'cd "$0" && exec "$@"' "$@"

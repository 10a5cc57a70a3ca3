# The Python package as pip builds it, in a virtual environment that stays in $VENV: with the newest PyTorch and
# NumPy, its tests in $SOURCE/tests/python, mypy and ruff. The wheel is the source distribution's; auditwheel accepts
# it, and it works without a network; suite trainers installs ./python itself. Whether PyTorch is built for CUDA is up
# to the index that pip is configured with.
# $BUILD: a folder that CMake has built. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"
unset PYTHONPATH CRUMB_LIBRARY
TORCH=2.13.0

# must WHAT COMMAND...: as check; without it the rest has no sense.
must() {
	check "$@"
	[ "$failed" = 0 ] || finish
}

[ -x "$VENV/bin/python" ] || must "a virtual environment" python3 -m venv "$VENV"
PATH=$VENV/bin:$PATH
must "pip install torch==$TORCH" pip install --no-compile "torch==$TORCH" build # most modules are never imported
must "a source distribution" python -m build --sdist --outdir "$folder" "$SOURCE/python"
must "a wheel of it" env CMAKE_BUILD_PARALLEL_LEVEL=2 \
	pip wheel --no-deps --wheel-dir "$folder" crumb_gradients-*.tar.gz
wheel=$(echo "$folder"/crumb_gradients-*.whl)
must "pip install" pip install --no-deps --force-reinstall "$wheel" # another one of this version may be there
must "and what its extra, dev, names" pip install --no-compile "$wheel[dev]"
check "python -m crumb" python -m crumb
holds "the installed package" grep -q "^package: crumb-gradients .* in $VENV/.*/crumb\$" stdout
holds "has a library of its version" grep -q "^library: \([0-9.]*\), $VENV/.*/crumb/libcrumb\.so\.0\$" stdout
holds "with PyTorch $TORCH" grep -q "^torch: $TORCH" stdout
holds "and a hook" grep -q '^hook for DistributedDataParallel: can be used$' stdout

check "auditwheel" auditwheel repair --wheel-dir "$folder/repaired" "$wheel"
holds "for all Pythons and many Linuxes" ls repaired/crumb_gradients-*-py3-none-*manylinux*.whl
check "an empty environment" python -m venv empty
check "the wheel, without a network" empty/bin/pip install --no-index repaired/*.whl
check "packs" empty/bin/python -c 'import crumb
print(crumb.__file__, len(crumb.Packer("sign", 3).pack(memoryview(b"\0" * 12).cast("f"))))'
holds "from there" grep -q "^$folder/empty/.*/crumb/__init__\.py 38\$" stdout

check "crumb-report" crumb-report --help
check "mypy" env -C "$SOURCE/python" mypy --cache-dir "$folder/mypy"
check "ruff" env -C "$SOURCE/python" ruff check --no-cache . ../tests/python ../examples
export LIBRARY_RUN=$BUILD/tests/library_run INTERNALS=$BUILD/tests/libpython_internals.so
export CRUMB_TRAIN=$BUILD/train/crumb-train USE_LIBUV=0 PYTHON=python FSDP2=yes
# Two at a time, and last, alone, test_hook_life.py, which has a short deadline. test_gpu.py wants a GPU,
# test_trainers.py what suite trainers installs.
ls "$SOURCE"/tests/python/test_*.py "$SOURCE/tests/python/examples.sh" |
	grep -v '/test_\(gpu\|trainers\|hook_life\)\.py$' >beside
cat >run_test <<'END'
name=$(basename "$1") program=sh
case $name in *.py) program=python ;; esac
"$program" "$1" >"$name.stdout" 2>"$name.stderr"
echo $? >"$name.status"
END
xargs -d '\n' -n 1 -P 2 sh run_test <beside
sh run_test "$SOURCE/tests/python/test_hook_life.py"
for name in $(sed 's,.*/,,' beside) test_hook_life.py; do
	check "$name" sh -c 'cat "$1.stdout"; cat "$1.stderr" >&2; exit "$(cat "$1.status")"' sh "$name"
done
finish

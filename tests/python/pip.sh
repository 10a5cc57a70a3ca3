# The Python package as pip builds it, in a virtual environment that stays in $VENV: with the newest PyTorch and NumPy,
# its tests in $SOURCE/tests/python, mypy and ruff. The source distribution makes a wheel, which auditwheel accepts and
# which works without a network. Whether PyTorch is built for CUDA is up to the index that pip is configured with.
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
must "pip install torch==$TORCH" pip install "torch==$TORCH"
must "pip install ./python" pip install "$SOURCE/python[dev]"
check "python -m crumb" python -m crumb
holds "the installed package" grep -q "^package: crumb-gradients .* in $VENV/.*/crumb\$" stdout
holds "has a library of its version" grep -q "^library: \([0-9.]*\), $VENV/.*/crumb/libcrumb\.so\.0\$" stdout
holds "with PyTorch $TORCH" grep -q "^torch: $TORCH" stdout
holds "and a hook" grep -q '^hook for DistributedDataParallel: can be used$' stdout

check "a source distribution" python -m build --sdist --outdir "$folder" "$SOURCE/python"
# Debug compiles faster; the package above is as it is released.
check "a wheel of it" pip wheel --no-deps --config-settings=cmake.build-type=Debug --wheel-dir "$folder" \
	crumb_gradients-*.tar.gz
check "auditwheel" auditwheel repair --wheel-dir "$folder/repaired" crumb_gradients-*.whl
holds "for all Pythons and many Linuxes" ls repaired/crumb_gradients-*-py3-none-*manylinux*.whl
check "an empty environment" python -m venv empty
check "the wheel, without a network" empty/bin/pip install --no-index repaired/*.whl
check "packs" empty/bin/python -c 'import crumb
print(crumb.__file__, len(crumb.Packer("sign", 3).pack(memoryview(b"\0" * 12).cast("f"))))'
holds "from there" grep -q "^$folder/empty/.*/crumb/__init__\.py 38\$" stdout

check "crumb-report" crumb-report --help
check "mypy" env -C "$SOURCE/python" mypy --cache-dir "$folder/mypy"
check "ruff" env -C "$SOURCE/python" ruff check --no-cache . ../tests/python ../examples
# FIRST, CASES: the seeds of test_hook_property; the suite with Debian's PyTorch has 0 to 15.
export LIBRARY_RUN=$BUILD/tests/library_run INTERNALS=$BUILD/tests/libpython_internals.so
export CRUMB_TRAIN=$BUILD/train/crumb-train USE_LIBUV=0 FIRST=16 CASES=4
# test_gpu.py wants a GPU, test_trainers.py what suite trainers installs.
for test in "$SOURCE"/tests/python/test_*.py; do
	case $test in *_gpu.py | *_trainers.py) ;; *) check "$(basename "$test")" python "$test" ;; esac
done
check "tests/python/examples.sh" env PYTHON=python FSDP2=yes sh "$SOURCE/tests/python/examples.sh"
finish

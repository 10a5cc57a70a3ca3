# pip installs the package into a virtual environment, where it finds the library by its name.
# SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

for module in venv ensurepip setuptools wheel; do
	if ! "$PYTHON" -c "import $module" 2>/dev/null; then
		echo "skipped: $PYTHON has no $module"
		exit 77
	fi
done
unset PYTHONPATH
cp -r "$SOURCE/python" package
check "venv" "$PYTHON" -m venv --system-site-packages venv
check "pip install" venv/bin/pip install --no-build-isolation --no-index ./package
check "use" venv/bin/python -c 'import crumb
print(crumb.__file__, len(crumb.Packer("sign", 3).pack(memoryview(b"\0" * 12).cast("f"))))'
holds "from there" grep -q '^/.*/venv/.*/crumb/__init__.py 38$' stdout
CRUMB_LIBRARY=/nowhere
check "no library" sh -c '! venv/bin/python -c "import crumb"'
holds "says what to do" grep -q '^ImportError: crumb: /nowhere: .*: build it with make' stderr
finish

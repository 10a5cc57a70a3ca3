# The hook in Accelerate, Hugging Face's Trainer, Lightning and Fabric, in the virtual environment $VENV.
# SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"
unset PYTHONPATH CRUMB_LIBRARY

[ -x "$VENV/bin/python" ] || check "a virtual environment" python3 -m venv "$VENV"
PATH=$VENV/bin:$PATH
check "pip install" pip install torch==2.13.0 "$SOURCE/python[dev,trainers]"
check "all are there" python -c "import accelerate, lightning, transformers"
check "test_trainers.py" python "$SOURCE/tests/python/test_trainers.py"
finish

"""What runs in the interpreter that was built for: the standard library, and torch for vLLM.

Nothing here may import the rest of the doctor, which that interpreter does not have.
"""

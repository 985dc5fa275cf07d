// What both extension modules need of Python's limited API.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <exception>
#include <stdexcept>
#include <string>

namespace smoke {

// A bytes argument that must hold an exact number of elements.
struct Bytes {
  const char* data = nullptr;
  Py_ssize_t size = 0;

  template <typename T>
  const T* as(const char* name, long long elements) const {
    if (size != elements * static_cast<long long>(sizeof(T))) {
      throw std::invalid_argument(std::string(name) + " has " + std::to_string(size) +
                                  " bytes, not " + std::to_string(elements * sizeof(T)));
    }
    return reinterpret_cast<const T*>(data);
  }
};

// Run a function that returns a new reference, and turn its C++ exceptions into Python's.
template <typename Function>
PyObject* translate(Function&& function) {
  try {
    return function();
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

}  // namespace smoke

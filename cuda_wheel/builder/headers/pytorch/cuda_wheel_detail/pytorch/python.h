// Python's C API as extension modules use it: objects, arguments, modules, buffers, capsules, errors, the GIL.
#ifndef CUDA_WHEEL_PYTORCH_PYTHON_H
#define CUDA_WHEEL_PYTORCH_PYTHON_H

#include <unistd.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#define PY_MAJOR_VERSION 3
#define PY_MINOR_VERSION 12
#define PY_VERSION_HEX 0x030C00F0
#define PYTHON_API_VERSION 1013

typedef ptrdiff_t Py_ssize_t;
typedef Py_ssize_t Py_hash_t;
typedef uint32_t Py_UCS4;
struct _typeobject;
typedef struct _typeobject PyTypeObject;
struct _object {
    Py_ssize_t ob_refcnt;
    PyTypeObject* ob_type;
};
typedef struct _object PyObject;
typedef struct {
    PyObject ob_base;
    Py_ssize_t ob_size;
} PyVarObject;
#define PyObject_HEAD PyObject ob_base;
#define PyObject_VAR_HEAD PyVarObject ob_base;
#define PyObject_HEAD_INIT(type) {1, (type)},
#define PyVarObject_HEAD_INIT(type, size) {PyObject_HEAD_INIT(type)(size)},

typedef struct bufferinfo {
    void* buf;
    PyObject* obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char* format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void* internal;
} Py_buffer;

typedef PyObject* (*PyCFunction)(PyObject*, PyObject*);
typedef PyObject* (*PyCFunctionWithKeywords)(PyObject*, PyObject*, PyObject*);
typedef PyObject* (*unaryfunc)(PyObject*);
typedef PyObject* (*binaryfunc)(PyObject*, PyObject*);
typedef PyObject* (*ternaryfunc)(PyObject*, PyObject*, PyObject*);
typedef int (*inquiry)(PyObject*);
typedef Py_ssize_t (*lenfunc)(PyObject*);
typedef PyObject* (*ssizeargfunc)(PyObject*, Py_ssize_t);
typedef void (*destructor)(PyObject*);
typedef int (*initproc)(PyObject*, PyObject*, PyObject*);
typedef PyObject* (*newfunc)(PyTypeObject*, PyObject*, PyObject*);
typedef PyObject* (*reprfunc)(PyObject*);
typedef PyObject* (*getter)(PyObject*, void*);
typedef int (*setter)(PyObject*, PyObject*, void*);
typedef int (*visitproc)(PyObject*, void*);
typedef int (*traverseproc)(PyObject*, visitproc, void*);
typedef void (*freefunc)(void*);
typedef void (*PyCapsule_Destructor)(PyObject*);

typedef struct PyMethodDef {
    const char* ml_name;
    PyCFunction ml_meth;
    int ml_flags;
    const char* ml_doc;
} PyMethodDef;
typedef struct PyMemberDef {
    const char* name;
    int type;
    Py_ssize_t offset;
    int flags;
    const char* doc;
} PyMemberDef;
typedef struct PyGetSetDef {
    const char* name;
    getter get;
    setter set;
    const char* doc;
    void* closure;
} PyGetSetDef;
typedef struct PyModuleDef_Base {
    PyObject ob_base;
    PyObject* (*m_init)(void);
    Py_ssize_t m_index;
    PyObject* m_copy;
} PyModuleDef_Base;
#define PyModuleDef_HEAD_INIT {{1, NULL}, NULL, 0, NULL}
struct PyModuleDef_Slot {
    int slot;
    void* value;
};
typedef struct PyModuleDef {
    PyModuleDef_Base m_base;
    const char* m_name;
    const char* m_doc;
    Py_ssize_t m_size;
    PyMethodDef* m_methods;
    struct PyModuleDef_Slot* m_slots;
    traverseproc m_traverse;
    inquiry m_clear;
    freefunc m_free;
} PyModuleDef;
struct _typeobject {
    PyVarObject ob_base;
    const char* tp_name;
    Py_ssize_t tp_basicsize, tp_itemsize;
    destructor tp_dealloc;
    unsigned long tp_flags;
    const char* tp_doc;
    PyMethodDef* tp_methods;
    PyMemberDef* tp_members;
    PyGetSetDef* tp_getset;
    initproc tp_init;
    newfunc tp_new;
};

#define METH_VARARGS 0x0001
#define METH_KEYWORDS 0x0002
#define METH_NOARGS 0x0004
#define METH_O 0x0008
#define METH_CLASS 0x0010
#define METH_STATIC 0x0020
#define METH_FASTCALL 0x0080
#define Py_TPFLAGS_DEFAULT 0
#define Py_TPFLAGS_BASETYPE (1UL << 10)
#define PyBUF_SIMPLE 0
#define PyBUF_WRITABLE 0x0001
#define PyBUF_FORMAT 0x0004
#define PyBUF_ND 0x0008
#define PyBUF_STRIDES (0x0010 | PyBUF_ND)
#define PyBUF_C_CONTIGUOUS (0x0020 | PyBUF_STRIDES)
#define PyBUF_CONTIG (PyBUF_ND | PyBUF_WRITABLE)
#define PyBUF_CONTIG_RO PyBUF_ND
#define PyBUF_FULL_RO (0x0100 | PyBUF_STRIDES | PyBUF_FORMAT)
#define PyMODINIT_FUNC extern "C" PyObject*
#define PyDoc_STR(text) text
#define PyDoc_STRVAR(name, text) static const char name[] = text

extern "C" {
extern PyObject _Py_NoneStruct;
extern PyObject _Py_TrueStruct, _Py_FalseStruct, _Py_NotImplementedStruct;
extern PyTypeObject PyLong_Type, PyFloat_Type, PyUnicode_Type, PyBytes_Type, PyList_Type, PyTuple_Type, PyDict_Type, PyType_Type,
    PyCapsule_Type;
#define CUDA_WHEEL_PYTHON_ERRORS(X)                                                                                     \
    X(Exception) X(TypeError) X(ValueError) X(RuntimeError) X(IndexError) X(KeyError) X(MemoryError) X(OverflowError)   \
    X(AttributeError) X(ImportError) X(NotImplementedError) X(StopIteration) X(AssertionError) X(SystemError) X(OSError) \
    X(IOError) X(BufferError) X(RuntimeWarning) X(UserWarning) X(DeprecationWarning)
#define CUDA_WHEEL_PYTHON_ERROR(name) extern PyObject* PyExc_##name;
CUDA_WHEEL_PYTHON_ERRORS(CUDA_WHEEL_PYTHON_ERROR)
#undef CUDA_WHEEL_PYTHON_ERROR

void Py_IncRef(PyObject*);
void Py_DecRef(PyObject*);
void Py_INCREF(PyObject*);
void Py_DECREF(PyObject*);
void Py_XINCREF(PyObject*);
void Py_XDECREF(PyObject*);
PyObject* Py_NewRef(PyObject*);
PyTypeObject* Py_TYPE(PyObject*);
Py_ssize_t Py_REFCNT(PyObject*);
int PyArg_ParseTuple(PyObject*, const char*, ...);
int PyArg_ParseTupleAndKeywords(PyObject*, PyObject*, const char*, char**, ...);
int PyArg_UnpackTuple(PyObject*, const char*, Py_ssize_t, Py_ssize_t, ...);
PyObject* Py_BuildValue(const char*, ...);
PyObject* PyModule_Create(PyModuleDef*);
PyObject* PyModuleDef_Init(PyModuleDef*);
int PyModule_AddObject(PyObject*, const char*, PyObject*);
int PyModule_AddIntConstant(PyObject*, const char*, long);
int PyModule_AddStringConstant(PyObject*, const char*, const char*);
PyObject* PyImport_ImportModule(const char*);
int PyType_Ready(PyTypeObject*);
PyObject* PyType_GenericNew(PyTypeObject*, PyObject*, PyObject*);
int PyType_IsSubtype(PyTypeObject*, PyTypeObject*);

PyObject* PyObject_GetAttrString(PyObject*, const char*);
int PyObject_SetAttrString(PyObject*, const char*, PyObject*);
int PyObject_HasAttrString(PyObject*, const char*);
PyObject* PyObject_CallObject(PyObject*, PyObject*);
PyObject* PyObject_Call(PyObject*, PyObject*, PyObject*);
PyObject* PyObject_CallFunction(PyObject*, const char*, ...);
PyObject* PyObject_CallMethod(PyObject*, const char*, const char*, ...);
PyObject* PyObject_CallFunctionObjArgs(PyObject*, ...);
PyObject* PyObject_Str(PyObject*);
PyObject* PyObject_Repr(PyObject*);
int PyObject_IsTrue(PyObject*);
int PyObject_IsInstance(PyObject*, PyObject*);
int PyObject_TypeCheck(PyObject*, PyTypeObject*);
Py_ssize_t PyObject_Size(PyObject*);
Py_ssize_t PyObject_Length(PyObject*);
int PyObject_GetBuffer(PyObject*, Py_buffer*, int);
int PyObject_CheckBuffer(PyObject*);
void PyBuffer_Release(Py_buffer*);
int PyCallable_Check(PyObject*);
PyObject* PyObject_GetIter(PyObject*);
PyObject* PyIter_Next(PyObject*);

PyObject* PyLong_FromLong(long);
PyObject* PyLong_FromUnsignedLong(unsigned long);
PyObject* PyLong_FromLongLong(long long);
PyObject* PyLong_FromUnsignedLongLong(unsigned long long);
PyObject* PyLong_FromSize_t(size_t);
PyObject* PyLong_FromSsize_t(Py_ssize_t);
PyObject* PyLong_FromVoidPtr(void*);
long PyLong_AsLong(PyObject*);
unsigned long PyLong_AsUnsignedLong(PyObject*);
long long PyLong_AsLongLong(PyObject*);
unsigned long long PyLong_AsUnsignedLongLong(PyObject*);
size_t PyLong_AsSize_t(PyObject*);
Py_ssize_t PyLong_AsSsize_t(PyObject*);
void* PyLong_AsVoidPtr(PyObject*);
PyObject* PyFloat_FromDouble(double);
double PyFloat_AsDouble(PyObject*);
PyObject* PyBool_FromLong(long);
int PyLong_Check(PyObject*);
int PyFloat_Check(PyObject*);
int PyBool_Check(PyObject*);
int PyUnicode_Check(PyObject*);
int PyBytes_Check(PyObject*);
int PyList_Check(PyObject*);
int PyTuple_Check(PyObject*);
int PyDict_Check(PyObject*);
int PySequence_Check(PyObject*);
PyObject* PyUnicode_FromString(const char*);
PyObject* PyUnicode_FromFormat(const char*, ...);
const char* PyUnicode_AsUTF8(PyObject*);
const char* PyUnicode_AsUTF8AndSize(PyObject*, Py_ssize_t*);
PyObject* PyBytes_FromString(const char*);
PyObject* PyBytes_FromStringAndSize(const char*, Py_ssize_t);
char* PyBytes_AsString(PyObject*);
Py_ssize_t PyBytes_Size(PyObject*);
PyObject* PyList_New(Py_ssize_t);
Py_ssize_t PyList_Size(PyObject*);
PyObject* PyList_GetItem(PyObject*, Py_ssize_t);
int PyList_SetItem(PyObject*, Py_ssize_t, PyObject*);
int PyList_Append(PyObject*, PyObject*);
PyObject* PyTuple_New(Py_ssize_t);
Py_ssize_t PyTuple_Size(PyObject*);
PyObject* PyTuple_GetItem(PyObject*, Py_ssize_t);
int PyTuple_SetItem(PyObject*, Py_ssize_t, PyObject*);
PyObject* PyTuple_Pack(Py_ssize_t, ...);
PyObject* PyDict_New(void);
PyObject* PyDict_GetItemString(PyObject*, const char*);
int PyDict_SetItemString(PyObject*, const char*, PyObject*);
PyObject* PySequence_Fast(PyObject*, const char*);
Py_ssize_t PySequence_Size(PyObject*);
PyObject* PySequence_GetItem(PyObject*, Py_ssize_t);

PyObject* PyCapsule_New(void*, const char*, PyCapsule_Destructor);
void* PyCapsule_GetPointer(PyObject*, const char*);
void* PyCapsule_GetContext(PyObject*);
int PyCapsule_IsValid(PyObject*, const char*);
int PyCapsule_SetName(PyObject*, const char*);
void* PyCapsule_Import(const char*, int);

void PyErr_SetString(PyObject*, const char*);
PyObject* PyErr_Format(PyObject*, const char*, ...);
PyObject* PyErr_NoMemory(void);
PyObject* PyErr_Occurred(void);
void PyErr_Clear(void);
void PyErr_Print(void);
int PyErr_ExceptionMatches(PyObject*);
PyObject* PyErr_NewException(const char*, PyObject*, PyObject*);
int PyErr_WarnEx(PyObject*, const char*, Py_ssize_t);
void* PyMem_Malloc(size_t);
void PyMem_Free(void*);

typedef struct _ts PyThreadState;
typedef enum { PyGILState_LOCKED, PyGILState_UNLOCKED } PyGILState_STATE;
PyThreadState* PyEval_SaveThread(void);
void PyEval_RestoreThread(PyThreadState*);
PyGILState_STATE PyGILState_Ensure(void);
void PyGILState_Release(PyGILState_STATE);
int PyGILState_Check(void);
void Py_Initialize(void);
void Py_Finalize(void);
int Py_IsInitialized(void);
} // extern "C"

#define Py_None (&_Py_NoneStruct)
#define Py_True (&_Py_TrueStruct)
#define Py_False (&_Py_FalseStruct)
#define Py_NotImplemented (&_Py_NotImplementedStruct)
#define Py_RETURN_NONE return Py_NewRef(Py_None)
#define Py_RETURN_TRUE return Py_NewRef(Py_True)
#define Py_RETURN_FALSE return Py_NewRef(Py_False)
#define Py_CLEAR(object) (Py_XDECREF((PyObject*)(object)), (object) = NULL)
#define PyTuple_GET_SIZE(o) PyTuple_Size((PyObject*)(o))
#define PyTuple_GET_ITEM(o, i) PyTuple_GetItem((PyObject*)(o), i)
#define PyTuple_SET_ITEM(o, i, v) PyTuple_SetItem((PyObject*)(o), i, v)
#define PyList_GET_SIZE(o) PyList_Size((PyObject*)(o))
#define PyList_GET_ITEM(o, i) PyList_GetItem((PyObject*)(o), i)
#define PyList_SET_ITEM(o, i, v) PyList_SetItem((PyObject*)(o), i, v)
#define PySequence_Fast_GET_SIZE(o) PySequence_Size((PyObject*)(o))
#define PySequence_Fast_GET_ITEM(o, i) PySequence_GetItem((PyObject*)(o), i)
#define PyLong_CheckExact(o) PyLong_Check(o)
#define PyFloat_AS_DOUBLE(o) PyFloat_AsDouble(o)
#define Py_BEGIN_ALLOW_THREADS { PyThreadState* _save = PyEval_SaveThread();
#define Py_END_ALLOW_THREADS PyEval_RestoreThread(_save); }
#define Py_UNUSED(name) _unused_##name

#endif

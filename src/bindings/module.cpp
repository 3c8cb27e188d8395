// The module itself: constants, errors, and the order in which subjects are bound.
#include "bindings.h"
#include "core/rows.h"
#include "core/subjects.h"
#include "core/unicode.h"

// After the headers that say whether the library is GNU's.
#if defined(__GLIBCXX__) && defined(__unix__)
#include <cxxabi.h>
#include <unistd.h>
#endif

namespace watchword::bindings {

ReleasedGil::~ReleasedGil() {
#if defined(__GLIBCXX__) && defined(__unix__)
    try {
        PyEval_RestoreThread(state_);
    } catch (const abi::__forced_unwind&) {
        for (;;) pause();
    }
#else
    PyEval_RestoreThread(state_);
#endif
}

namespace {

// Any function may meet these: a damaged file is found out while it is read, and labels of another
// type while they are learnt.
void translate_failures(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const MappedFailure& failure) {
        const nb::object kind = nb::module_::import_("watchword.errors").attr("ModelFormatError");
        PyErr_SetString(kind.ptr(), failure.what());
    } catch (const IncompleteFailure& failure) {
        const nb::object kind =
            nb::module_::import_("watchword.errors").attr("IncompleteModelError");
        PyErr_SetString(kind.ptr(), failure.what());
    } catch (const LimitFailure& failure) {
        const nb::object kind = nb::module_::import_("watchword.errors").attr("ModelLimitError");
        PyErr_SetString(kind.ptr(), failure.what());
    } catch (const FullFailure& failure) {
        const nb::object kind = nb::module_::import_("watchword.errors").attr("StateError");
        PyErr_SetString(kind.ptr(), failure.what());
    } catch (const LabelTypeFailure& failure) {
        PyErr_SetString(PyExc_TypeError, failure.what());
    }
}

}  // namespace
}  // namespace watchword::bindings

NB_MODULE(_native, m) {
    using namespace watchword;
    using namespace watchword::bindings;
    m.doc() = "The native core of watchword.";
    m.attr("unicode_version") = nb::str(unicode_version().data(), unicode_version().size());
    m.attr("max_ngram_limit") = kMaxNgramLimit;
    m.attr("max_count") = kMaxCount;
    // NOLINTBEGIN(bugprone-throw-keyword-missing, bugprone-unused-raii): each adds itself to `m`.
    nb::exception<UnlearnFailure>(m, "UnlearnFailure");
    nb::exception<SnapshotFailure>(m, "SnapshotFailure");
    nb::exception<RowsFailure>(m, "RowsFailure");
    // NOLINTEND(bugprone-throw-keyword-missing, bugprone-unused-raii)
    nb::register_exception_translator(&translate_failures);
    nb::set_leak_warnings(false);  // models may live as long as the interpreter
    bind_text(m);
    bind_parameters(m);
    bind_trails(m);
    bind_model(m);
    bind_rows(m);
    bind_streams(m);
}

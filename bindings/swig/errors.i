/* Errors. If a function returns `opd_error *`, the binding throws the error, or returns the out_ parameters. */
%opd_throws(opd_error *)

/* Here the error is a result, not a failure. */
%opd_error_as_result(opd_closure_take_error)

/* Bindings convert their language's exceptions to errors and back. */
%ignore opd_error_create;
%ignore opd_error_code;
%ignore opd_error_kind;
%ignore opd_error_message;
%ignore opd_error_cause;
%ignore opd_error_backtrace;

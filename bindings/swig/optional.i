/* Handles and texts that may be none (null): %opd_optional(function, parameter). bindings/api writes these rules from the
 * headers' comments. For all other parameters, the typemaps of handles and texts refuse none before the function is
 * called.
 *
 * A typemap cannot be made for one function, but it knows the names of function and parameter. So a rule defines an
 * empty C macro, and OPD_IS_OPTIONAL($symname, $1_name) tells whether the macro leaves any text. SWIG's XML contains no
 * C code: there, a rule is a typemap with the two names. */
%{
#define OPD_TEXT(X) #X
#define OPD_TEXT_OF(X) OPD_TEXT(X)
#define OPD_IS_OPTIONAL(FUNCTION, PARAMETER) (sizeof OPD_TEXT_OF(OPD_OPTIONAL_##FUNCTION##_##PARAMETER) == 1)
%}
%define %opd_optional(FUNCTION, PARAMETER)
%{
#define OPD_OPTIONAL_##FUNCTION##_##PARAMETER
%}
%typemap(opd_optional) (void *FUNCTION, void *PARAMETER) ""
%enddef

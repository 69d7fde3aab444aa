/* Handles and texts that may be none (null): %opd_optional(function, parameter). bindings/api writes these rules from the
 * headers' comments. None for any other is refused before the function is called, by the typemaps of handles and texts.
 *
 * Typemaps cannot be made for one function, but know the names of function and parameter: a rule is a macro of C with
 * nothing behind it, and OPD_IS_OPTIONAL($symname, $1_name) tells whether it leaves any text. SWIG's XML has no C: there
 * it is a typemap with the two names. */
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

/* Handles and texts that may be none (null): %opd_optional(function, parameter), as the headers say of each. None for any
 * other is refused before the function is called, by the typemaps of handles and texts.
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

%opd_optional(opd_function_create_native, name)
%opd_optional(opd_module_load_bytes, name)
%opd_optional(opd_module_get_function, name)
%opd_optional(opd_module_system_lib, prefix)
%opd_optional(opd_module_save, format)
%opd_optional(opd_module_get_source, format)
%opd_optional(opd_report_builder_set, device)
%opd_optional(opd_range_name, name)
%opd_optional(opd_range_push, name)
%opd_optional(opd_vm_set_instrument, instrument)
%opd_optional(opd_cancel_token_set_default, token)

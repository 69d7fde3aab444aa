/* The ten-line program that the installed tree must build and run. */
#include <opdyno/opdyno.h>
#include <stdio.h>

int main(void) {
  const int64_t dims[] = {2, 3};
  opd_tensor *tensor = NULL;
  opd_buffer *text = NULL;
  opd_error *error = opd_tensor_create(dims, 2, (DLDataType){kDLFloat, 32, 1}, (DLDevice){kDLCPU, 0}, &tensor);
  const opd_value value = opd_value_of_object(tensor);
  if (!error) error = opd_value_to_string(&value, &text);
  printf("opdyno %s: %s\n", opd_version(), error ? opd_error_message(error) : opd_buffer_data(text));
  opd_buffer_release(text);
  opd_tensor_release(tensor);
  return error != NULL;
}

/* Loads a library that tvm_ffi.cpp.build made of kernel.cc and calls its functions: tvm_ffi_kernel LIBRARY. No library
 * of tvm-ffi is in this process. */
#include <opdyno/opdyno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition) \
  if (!(condition)) (printf("%s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1))

static void check(opd_error *error) {
  if (!error) return;
  printf("%s: %s\n", opd_error_kind(error), opd_error_message(error));
  exit(1);
}

static opd_module *module;

static opd_error *call(const char *name, const opd_value *args, int32_t count, opd_value *out) {
  opd_function *function = NULL;
  check(opd_module_get_function(module, name, 0, &function));
  opd_error *error = opd_function_call(function, args, count, out);
  opd_object_release(function);
  return error;
}

static opd_value called(const char *name, const opd_value *args, int32_t count) {
  opd_value result = opd_none();
  check(call(name, args, count, &result));
  return result;
}

static int is_text(const opd_value *value, const char *text) {
  const char *data = NULL;
  size_t size = 0;
  check(opd_string_get(value, &data, &size));
  return size == strlen(text) && !memcmp(data, text, size);
}

static void tensors(void) {
  float in[3] = {1, 2, 3}, out[3] = {0, 0, 0};
  int64_t three = 3, two = 2;
  DLTensor x = {in, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &three, NULL, 0};
  DLTensor y = x;
  y.data = out;
  opd_value args[2] = {opd_dltensor(&x), opd_dltensor(&y)}, result = called("add_one", args, 2);
  EXPECT(result.type == OPD_NONE && out[0] == 2 && out[1] == 3 && out[2] == 4);
  y.shape = &two;
  opd_error *error = call("add_one", args, 2, &result);
  EXPECT(error && !strcmp(opd_error_kind(error), "ValueError"));
  EXPECT(!strcmp(opd_error_message(error), "x and y must have one size"));
  opd_error_release(error);
}

static void arrays(void) {
  const opd_value items[3] = {opd_int(1), opd_int(2), opd_int(39)};
  opd_array *array = NULL;
  check(opd_array_create(items, 3, &array));
  opd_value args[2] = {opd_value_of_object(array), opd_int(7)}, item;
  EXPECT(called("sum", args, 1).u.int64 == 42);
  opd_value longer = called("appended", args, 2);
  EXPECT(longer.type == OPD_ARRAY && opd_array_count((opd_array *)longer.u.object) == 4);
  EXPECT(opd_array_count(array) == 3); /* the kernel changed a copy */
  check(opd_array_get((opd_array *)longer.u.object, 3, &item));
  EXPECT(item.u.int64 == 7);
  const opd_value texts[1] = {opd_cstring("no number")};
  opd_array *wrong = NULL;
  check(opd_array_create(texts, 1, &wrong));
  args[0] = opd_value_of_object(wrong);
  opd_error *error = call("sum", args, 1, &item);
  EXPECT(error && !strcmp(opd_error_kind(error), "TypeError"));
  opd_error_release(error);
  opd_value_release(&longer);
  opd_object_release(array);
  opd_object_release(wrong);
}

/* Of so many entries: side by side, or in a table. */
static void maps(int64_t count) {
  opd_value *pairs = calloc(2 * (size_t)count, sizeof *pairs);
  for (int64_t i = 0; i < count; ++i) {
    char key[40];
    snprintf(key, sizeof key, "a key with the number %d", (int)i);
    check(opd_string_create(key, strlen(key), &pairs[2 * i]));
    pairs[2 * i + 1] = opd_int(i * i);
  }
  opd_map *map = NULL;
  check(opd_map_create(pairs, (size_t)count, &map));
  for (int64_t i = 0; i < count; ++i) {
    const opd_value args[2] = {opd_value_of_object(map), pairs[2 * i]};
    EXPECT(called("look_up", args, 2).u.int64 == i * i);
  }
  const opd_value absent[2] = {opd_value_of_object(map), opd_cstring("absent")};
  EXPECT(called("look_up", absent, 2).type == OPD_NONE);

  const opd_value more[2] = {opd_value_of_object(map), opd_int(50)};
  opd_value grown = called("grown", more, 2), key, value;
  opd_map *made = (opd_map *)grown.u.object; /* the kernel's own object, if it had to copy */
  EXPECT(opd_map_count(made) == count + 49 && opd_map_count(map) == count);
  for (int64_t i = 1; i < 50; ++i) {
    char text[20];
    snprintf(text, sizeof text, "entry %d", (int)i);
    key = opd_int(i);
    check(opd_map_get(made, &key, &value));
    EXPECT(is_text(&value, text));
    opd_value_release(&value);
    check(opd_map_entry(made, (size_t)(count + i) - (i < 49 ? 1 : 1), &key, &value)); /* in the order of insertion */
    EXPECT(key.type == OPD_INT);
    opd_value_release(&key);
    opd_value_release(&value);
  }
  opd_value_release(&grown);
  opd_object_release(map);
  for (int64_t i = 0; i < count; ++i) opd_value_release(&pairs[2 * i]);
  free(pairs);
}

static opd_error *twice(void *user_data, const opd_value *args, int32_t num_args, opd_value *out_result) {
  (void)user_data;
  EXPECT(num_args == 1);
  *out_result = opd_int(2 * args[0].u.int64);
  return NULL;
}

static void functions_and_text(void) {
  opd_function *callback = NULL;
  check(opd_function_create(twice, NULL, NULL, &callback));
  const opd_value args[2] = {opd_value_of_object(callback), opd_int(21)};
  EXPECT(called("apply", args, 2).u.int64 == 42);
  opd_object_release(callback);

  const opd_value more = opd_int(5), number = opd_int(37);
  opd_value made = called("adder", &more, 1), sum = opd_none();
  EXPECT(made.type == OPD_FUNCTION);
  check(opd_function_call((opd_function *)made.u.object, &number, 1, &sum));
  EXPECT(sum.u.int64 == 42);
  opd_value_release(&made);

  const opd_value name = opd_cstring("opdyno and all that");
  opd_value text = called("greeting", &name, 1);
  EXPECT(is_text(&text, "hello opdyno and all that"));
  opd_value_release(&text);

  const int64_t dims[3] = {1, 2, 3};
  opd_shape *shape = NULL;
  check(opd_shape_create(dims, 3, &shape));
  const opd_value argument = opd_value_of_object(shape);
  opd_value doubled = called("doubled", &argument, 1);
  int32_t ndim = 0;
  EXPECT(opd_shape_dims((opd_shape *)doubled.u.object, &ndim)[2] == 6 && ndim == 3);
  opd_value_release(&doubled);
  opd_object_release(shape);
}

int main(int argc, char **argv) {
  EXPECT(argc == 2);
  check(opd_module_load(argv[1], NULL, &module));
  tensors();
  arrays();
  for (int64_t count = 0; count <= 200; count = count < 8 ? count + 1 : 3 * count) maps(count);
  functions_and_text();
  opd_object_release(module);
  puts("the kernel and opdyno agree");
  return 0;
}

/* Reads handwritten digits: assembles the network's program with its parameters, compiles the kernels, writes both as
 * model.so, classifies the held-out images with it, shows a few, profiles one batch, and records many small ones.
 *
 *   digits [FOLDER [OUTPUT [FLAGS]]]     FOLDER holds kernels.c, digits.opdasm and data/; the kernels are compiled with
 *                                        FLAGS, or -O2 -std=c99. Files in OUTPUT: model.so; digits.npz with the images
 *                                        and the expected result; digits_report.json; the recording digits.events.
 */
#define _POSIX_C_SOURCE 200809L /* for open_memstream() */
#include <opdyno/opdyno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, PIXELS = SIDE * SIDE, CLASSES = 10, NUM_PARAMS = 6, BATCH = 14, SHOWN = 5 };
static const char *const PARAM_NAMES[NUM_PARAMS] = {"conv1_w", "conv1_b", "conv2_w", "conv2_b", "dense_w", "dense_b"};

static void check(opd_error *error, const char *what) {
  if (!error) return;
  fprintf(stderr, "digits: %s: %s: %s\n", what, opd_error_kind(error), opd_error_message(error));
  exit(1);
}

static char *join(const char *directory, const char *name) {
  size_t size = strlen(directory) + strlen(name) + 2;
  char *path = malloc(size);
  if (path) snprintf(path, size, "%s/%s", directory, name);
  return path;
}

static char *read_text(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  *size = 0;
  if (!file) {
    fprintf(stderr, "digits: cannot open %s\n", path);
    exit(1);
  }
  for (size_t room = 0, got = 1; got > 0; *size += got) {
    if (*size == room) text = realloc(text, (room = room ? 2 * room : 4096) + 1);
    got = fread(text + *size, 1, room - *size, file);
  }
  fclose(file);
  text[*size] = '\0';
  return text;
}

static void write_text(const char *directory, const char *name, opd_buffer *buffer) {
  char *path = join(directory, name);
  FILE *file = fopen(path, "wb");
  const int ok = file && fwrite(opd_buffer_data(buffer), 1, opd_buffer_size(buffer), file) == opd_buffer_size(buffer);
  if (!file || fclose(file) || !ok) {
    fprintf(stderr, "digits: cannot write %s\n", path);
    exit(1);
  }
  free(path);
  opd_buffer_release(buffer);
}

static opd_params *load_params(const char *directory, const char *name) {
  char *path = join(directory, name);
  opd_params *params;
  check(opd_params_open(path, NULL, &params), path);
  free(path);
  return params;
}

static opd_tensor *get_tensor(const opd_params *params, const char *name) {
  opd_tensor *tensor;
  check(opd_params_get(params, name, &tensor), name);
  return tensor;
}

/* Writes a tensor of float32 as the assembly has it: tensor(float32, (64, 10), 0x…). */
static void write_constant(FILE *out, const opd_tensor *tensor) {
  const DLTensor *view = opd_tensor_view(tensor);
  const unsigned char *bytes = view->data;
  size_t size = sizeof(float);
  fputs(".const = tensor(float32, (", out);
  for (int i = 0; i < view->ndim; ++i) {
    fprintf(out, i ? ", %d" : "%d", (int)view->shape[i]);
    size *= (size_t)view->shape[i];
  }
  fputs("), 0x", out);
  for (size_t i = 0; i < size; ++i) fprintf(out, "%02x", bytes[i]);
  fputs(")\n", out);
}

/* The program's text with the parameters as its constants c[0] to c[5], so that main() takes the images only. */
static char *with_constants(const char *text, const opd_params *params, size_t *size) {
  char *bound = NULL;
  FILE *out = open_memstream(&bound, size);
  const char *main_begin = strstr(text, "\n.func");
  if (!out || !main_begin) exit(1);
  fwrite(text, 1, (size_t)(main_begin + 1 - text), out);
  text = main_begin + 1;
  for (int i = 0; i < NUM_PARAMS; ++i) {
    opd_tensor *tensor = get_tensor(params, PARAM_NAMES[i]);
    write_constant(out, tensor);
    opd_tensor_release(tensor);
  }
  while (*text) {
    const size_t mark = text[0] == '%' ? 1 : strncmp(text, ", ", 2) == 0 ? 2 : 0; /* before a use; in main's list */
    int i = 0;
    while (i < NUM_PARAMS && strncmp(text + mark, PARAM_NAMES[i], strlen(PARAM_NAMES[i])) != 0) ++i;
    if (!mark || i == NUM_PARAMS) {
      fputc(*text++, out);
      continue;
    }
    if (mark == 1) fprintf(out, "c[%d]", i);
    text += mark + strlen(PARAM_NAMES[i]);
  }
  fclose(out);
  return bound;
}

/* Writes the program and its kernels as one file. */
static void write_model(const char *directory, const char *flags, const char *path) {
  size_t size;
  char *text_path = join(directory, "digits.opdasm"), *kernels_path = join(directory, "kernels.c");
  char *text = read_text(text_path, &size);
  opd_params *params = load_params(directory, "data/digits.params");
  char *bound = with_constants(text, params, &size);
  opd_executable *program;
  opd_module *module;
  check(opd_executable_assemble(bound, size, &program), text_path);
  check(opd_executable_to_module(program, &module), "making a module of the program");
  const char *addons[] = {kernels_path};
  opd_export_options options;
  opd_export_options_init(&options);
  options.addons = addons;
  options.num_addons = 1;
  options.c_flags = flags;
  check(opd_module_export(module, path, &options), path);
  opd_module_release(module);
  opd_executable_release(program);
  opd_params_release(params);
  free(bound);
  free(text);
  free(kernels_path);
  free(text_path);
}

static opd_vm *load_model(const char *path) {
  opd_module *module;
  opd_vm *vm;
  check(opd_module_load(path, NULL, &module), path);
  check(opd_vm_create(module, NULL, &vm), "making the VM");
  opd_module_release(module);
  return vm;
}

/* The pixels 0 to 16 as the network wants them: float32 [n, 8, 8, 1] from 0 to 1. */
static opd_tensor *scale(const uint8_t *from, int64_t count) {
  const int64_t dims[4] = {count, SIDE, SIDE, 1};
  const DLDataType float32 = {kDLFloat, 32, 1};
  const DLDevice cpu = {kDLCPU, 0};
  opd_tensor *scaled;
  check(opd_tensor_create(dims, 4, float32, cpu, &scaled), "allocating the input");
  float *to = opd_tensor_view(scaled)->data;
  for (int64_t i = 0; i < count * PIXELS; ++i) to[i] = (float)from[i] / 16.0f;
  return scaled;
}

/* What was read of an image: the digit with the largest probability. */
static int most_likely(const float *probabilities) {
  int best = 0;
  for (int i = 1; i < CLASSES; ++i)
    if (probabilities[i] > probabilities[best]) best = i;
  return best;
}

static int64_t count_right(const float *probabilities, const uint8_t *labels, int64_t count) {
  int64_t right = 0;
  for (int64_t i = 0; i < count; ++i) right += most_likely(probabilities + i * CLASSES) == labels[i];
  return right;
}

/* Draws a few images side by side, two rows of pixels in a line, each with the network's answer, and the accuracy. */
static void show(const uint8_t *images, const uint8_t *labels, const float *probabilities, int64_t right,
                 int64_t count) {
  static const char *const blocks[] = {" ", "\u2580", "\u2584", "\u2588"}; /* none, the upper half, the lower, both */
  for (int y = 0; y < SIDE; y += 2) {
    for (int k = 0; k < SHOWN; ++k) {
      const uint8_t *row = images + k * PIXELS + y * SIDE;
      for (int x = 0; x < SIDE; ++x) fputs(blocks[(row[x] > 6) + 2 * (row[SIDE + x] > 6)], stdout);
      const int answer = most_likely(probabilities + k * CLASSES);
      if (y < SIDE - 2) fputs("   ", stdout);
      else printf("%d%c ", answer, answer == labels[k] ? ' ' : '!');
    }
    if (y == 2) printf("accuracy: %lld of %lld", (long long)right, (long long)count);
    if (y == 4) printf("held-out images, %.2f %%", 100.0 * (double)right / (double)count);
    printf("\n");
  }
}

/* Reads the images once more, a few at a time, while a profiler records when each thread does what, who called, and
 * what memory comes and goes. The recording is a file: "opdyno trace view FILE" shows it. Returns how many were right.
 */
static int64_t record(opd_vm *vm, const uint8_t *images, const uint8_t *labels, int64_t count, const char *directory) {
  char *path = join(directory, "digits.events");
  opd_profiler_options options;
  opd_profiler *profiler;
  opd_trace *trace;
  opd_value batch, result;
  int64_t right = 0;

  opd_profiler_options_init(&options);
  options.profile_memory = options.with_stack = options.keep_in_file = 1;
  options.file = path;
  check(opd_profiler_create(&options, &profiler), "making a profiler");
  check(opd_profiler_start(profiler), path);
  for (int64_t first = 0; first < count; first += BATCH) {
    const int64_t size = count - first < BATCH ? count - first : BATCH;
    opd_range_push("batch");
    opd_range_push("scale");
    opd_tensor *scaled = scale(images + first * PIXELS, size);
    opd_range_pop();
    batch = opd_value_of_object(scaled);
    check(opd_vm_call(vm, "main", &batch, 1, NULL, &result), "running the network");
    opd_range_push("compare");
    right += count_right(opd_tensor_view((const opd_tensor *)result.u.object)->data, labels + first, size);
    opd_range_pop();
    opd_value_release(&result);
    opd_tensor_release(scaled);
    opd_range_pop();
  }
  check(opd_profiler_stop(profiler, &trace), path);
  opd_trace_release(trace); /* NULL: it stays in the file */
  opd_profiler_release(profiler);
  free(path);
  return right;
}

/* Keeps the images as the network wants them, and what numpy computed for them: "out", as results of programs are
 * called in files. */
static void write_expected(opd_tensor *images, const opd_params *test, const char *directory) {
  char *path = join(directory, "digits.npz");
  opd_params *file;
  opd_tensor *expected = get_tensor(test, "probabilities");
  check(opd_params_create(&file), path);
  check(opd_params_set(file, "images", images), path);
  check(opd_params_set(file, "out", expected), path);
  check(opd_params_save(file, path), path);
  opd_tensor_release(expected);
  opd_params_release(file);
  free(path);
}

int main(int argc, char **argv) {
  const char *directory = argc > 1 ? argv[1] : "examples/digits", *output = argc > 2 ? argv[2] : ".";
  char *model = join(output, "model.so");
  write_model(directory, argc > 3 ? argv[3] : "-O2 -std=c99", model);
  opd_vm *vm = load_model(model);
  opd_params *test = load_params(directory, "data/digits_test.npz");

  opd_tensor *images = get_tensor(test, "images"), *labels = get_tensor(test, "labels");
  const uint8_t *pixels = opd_tensor_view(images)->data, *is = opd_tensor_view(labels)->data;
  const int64_t count = opd_tensor_view(labels)->shape[0];
  opd_tensor *scaled = scale(pixels, count);
  const opd_value arg = opd_value_of_object(scaled);
  opd_value result;
  check(opd_vm_call(vm, "main", &arg, 1, NULL, &result), "running the network");
  const float *probabilities = opd_tensor_view((const opd_tensor *)result.u.object)->data;
  const int64_t right = count_right(probabilities, is, count);
  show(pixels, is, probabilities, right, count);

  opd_report *report;
  opd_buffer *text;
  check(opd_vm_profile(vm, "main", &arg, 1, NULL, NULL, &report, NULL), "profiling the network");
  check(opd_report_write(report, OPD_REPORT_JSON, NULL, &text), "writing JSON");
  write_text(output, "digits_report.json", text);
  write_expected(scaled, test, output);

  opd_report_release(report);
  opd_value_release(&result);
  opd_tensor_release(scaled);
  /* What the large batch took goes back, so that the recording shows the memory of small ones. */
  check(opd_vm_trim(vm), "freeing memory");
  const int64_t in_batches = record(vm, pixels, is, count, output);

  opd_tensor_release(images);
  opd_tensor_release(labels);
  opd_params_release(test);
  opd_vm_release(vm);
  free(model);
  return 100 * right >= 96 * count && in_batches == right ? 0 : 1;
}

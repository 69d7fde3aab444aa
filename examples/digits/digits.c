/* Reads handwritten digits: assembles the network's program, compiles its kernels, classifies the held-out images,
 * shows a few, profiles one batch, and records many small ones.
 *
 *   digits [FOLDER [OUTPUT [FLAGS]]]     FOLDER holds kernels.c, digits.opdasm and data/; the reports and the recording
 *                                        go to OUTPUT; the kernels are compiled with FLAGS, or -O2 -std=c99.
 */
#include <opdyno/opdyno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, PIXELS = SIDE * SIDE, CLASSES = 10, NUM_PARAMS = 6, BATCH = 14 };
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
    if (*size == room) text = realloc(text, room = room ? 2 * room : 4096);
    got = fread(text + *size, 1, room - *size, file);
  }
  fclose(file);
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
  printf("  %s\n", path);
  free(path);
  opd_buffer_release(buffer);
}

/* The program with the compiled kernels as its import. */
static opd_vm *load_network(const char *directory, const char *flags) {
  size_t size;
  char *path = join(directory, "digits.opdasm"), *kernels_path = join(directory, "kernels.c");
  char *text = read_text(path, &size);
  opd_executable *program;
  opd_module *module, *kernels;
  opd_vm *vm;
  check(opd_executable_assemble(text, size, &program), path);
  check(opd_executable_to_module(program, &module), "making a module of the program");
  opd_module_options options;
  opd_module_options_init(&options);
  options.c_flags = flags;
  check(opd_module_load(kernels_path, &options, &kernels), "compiling the kernels");
  check(opd_module_add_import(module, kernels), "importing the kernels");
  check(opd_vm_create(module, NULL, &vm), "making the VM");
  opd_executable_release(program);
  opd_module_release(module);
  opd_module_release(kernels);
  free(text);
  free(path);
  free(kernels_path);
  return vm;
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

/* Draws a few images side by side, with the network's answers below. */
static void show(const uint8_t *images, const uint8_t *labels, const float *probabilities, int count) {
  static const char shades[] = " .:-=+*#@";
  for (int y = 0; y < SIDE; ++y) {
    for (int k = 0; k < count; ++k) {
      for (int x = 0; x < SIDE; ++x) {
        const char shade = shades[images[k * PIXELS + y * SIDE + x] / 2];
        printf("%c%c", shade, shade);
      }
      printf("  ");
    }
    printf("\n");
  }
  for (int k = 0; k < count; ++k) {
    const int answer = most_likely(probabilities + k * CLASSES);
    printf("read %d, is %d (%3.0f %%)  ", answer, labels[k], 100.0 * probabilities[k * CLASSES + answer]);
  }
  printf("\n\n");
}

/* Reads the images once more, a few at a time, while a profiler records when each thread does what, who called, and
 * what memory comes and goes. `args` are those of main(). The recording is a file: "opdyno trace view FILE" shows it.
 */
static void record(opd_vm *vm, const opd_value *args, const uint8_t *images, const uint8_t *labels, int64_t count,
                   const char *directory) {
  char *path = join(directory, "digits.events");
  opd_profiler_options options;
  opd_profiler *profiler;
  opd_trace *trace;
  opd_value batch[1 + NUM_PARAMS], result;
  int64_t right = 0;
  memcpy(batch, args, sizeof batch);

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
    batch[0] = opd_value_of_object(scaled);
    check(opd_vm_call(vm, "main", batch, 1 + NUM_PARAMS, NULL, &result), "running the network");
    opd_range_push("compare");
    right += count_right(opd_tensor_view((const opd_tensor *)result.u.object)->data, labels + first, size);
    opd_range_pop();
    opd_value_release(&result);
    opd_tensor_release(scaled);
    opd_range_pop();
  }
  check(opd_profiler_stop(profiler, &trace), path);
  printf("  %s: %lld of them read right, in batches of %d\n", path, (long long)right, BATCH);
  opd_trace_release(trace); /* NULL: it stays in the file */
  opd_profiler_release(profiler);
  free(path);
}

int main(int argc, char **argv) {
  const char *directory = argc > 1 ? argv[1] : "examples/digits", *output = argc > 2 ? argv[2] : ".";
  opd_vm *vm = load_network(directory, argc > 3 ? argv[3] : "-O2 -std=c99");
  opd_params *params = load_params(directory, "data/digits.params"),
             *test = load_params(directory, "data/digits_test.npz");

  opd_tensor *images = get_tensor(test, "images"), *labels = get_tensor(test, "labels");
  const uint8_t *pixels = opd_tensor_view(images)->data, *is = opd_tensor_view(labels)->data;
  const int64_t count = opd_tensor_view(labels)->shape[0];
  opd_tensor *tensors[1 + NUM_PARAMS] = {scale(pixels, count)};
  for (int i = 0; i < NUM_PARAMS; ++i) tensors[1 + i] = get_tensor(params, PARAM_NAMES[i]);
  opd_value args[1 + NUM_PARAMS], result;
  for (int i = 0; i <= NUM_PARAMS; ++i) args[i] = opd_value_of_object(tensors[i]);

  check(opd_vm_call(vm, "main", args, 1 + NUM_PARAMS, NULL, &result), "running the network");
  const float *probabilities = opd_tensor_view((const opd_tensor *)result.u.object)->data;
  const int64_t right = count_right(probabilities, is, count);
  show(pixels, is, probabilities, 5);
  const double accuracy = 100.0 * (double)right / (double)count;
  printf("accuracy: %lld of %lld held-out images, %.2f %%\n\n", (long long)right, (long long)count, accuracy);

  opd_report *report;
  opd_buffer *text;
  check(opd_vm_profile(vm, "main", args, 1 + NUM_PARAMS, NULL, NULL, &report, NULL), "profiling the network");
  check(opd_report_write(report, OPD_REPORT_TABLE, NULL, &text), "printing the table");
  printf("one batch of %lld images:\n%s\n\nthe report, also as files, and a recording:\n", (long long)count,
         opd_buffer_data(text));
  opd_buffer_release(text);
  check(opd_report_write(report, OPD_REPORT_JSON, NULL, &text), "writing JSON");
  write_text(output, "digits_report.json", text);
  check(opd_report_write(report, OPD_REPORT_CSV, NULL, &text), "writing CSV");
  write_text(output, "digits_report.csv", text);

  opd_report_release(report);
  opd_value_release(&result);
  opd_tensor_release(tensors[0]);
  /* What the large batch took goes back, so that the recording shows the memory of small ones. */
  check(opd_vm_trim(vm), "freeing memory");
  record(vm, args, pixels, is, count, output);

  for (int i = 1; i <= NUM_PARAMS; ++i) opd_tensor_release(tensors[i]);
  opd_tensor_release(images);
  opd_tensor_release(labels);
  opd_params_release(params);
  opd_params_release(test);
  opd_vm_release(vm);
  return accuracy >= 96.0 ? 0 : 1;
}

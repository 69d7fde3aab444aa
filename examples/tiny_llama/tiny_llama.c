/* Runs a small language model as a server would: prompts in a batch, a prefix that they share, sampling, a client who
 * leaves. tiny_llama.py is the same program.
 *
 *   tiny_llama [FOLDER]     FOLDER holds tiny_llama.so and weights.npz, as build.py makes them.
 */
#define _POSIX_C_SOURCE 199309L /* for clock_gettime() */
#include <math.h>
#include <opdyno/opdyno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SEQUENCES = 4, PREFIX = 64, PROMPT = 16, TOKENS = 32, PAGE = 16 };
enum { CANCELLED_AFTER = 16, TOP_K = 8, SEED = 1, MEASURED = 200, MOST_ROWS = PREFIX };
static const double TEMPERATURE = 0.8;

static void check(opd_error *error, const char *what) {
  if (!error) return;
  fprintf(stderr, "tiny_llama: %s: %s: %s\n", what, opd_error_kind(error), opd_error_message(error));
  exit(1);
}

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

/* ---- sampling --------------------------------------------------------------------------------------------------- */

/* SplitMix64: the same numbers as in tiny_llama.py. */
static uint64_t next_random(uint64_t *state) {
  uint64_t mixed = *state += 0x9e3779b97f4a7c15;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return mixed ^ mixed >> 31;
}

/* One of the TOP_K likeliest tokens, by its probability at TEMPERATURE. */
static int32_t sample(const float *logits, int64_t vocabulary, uint64_t *random) {
  int32_t best[TOP_K];
  double weights[TOP_K], sum = 0;
  int count = 0;
  for (int32_t token = 0; token < vocabulary; ++token) {
    int place = count;
    while (place > 0 && logits[token] > logits[best[place - 1]]) --place;
    if (place == TOP_K) continue;
    count += count < TOP_K;
    for (int i = count - 1; i > place; --i) best[i] = best[i - 1];
    best[place] = token;
  }
  for (int i = 0; i < count; ++i)
    sum += weights[i] = exp(((double)logits[best[i]] - (double)logits[best[0]]) / TEMPERATURE);
  double left = (double)(next_random(random) >> 11) * 0x1p-53 * sum;
  for (int i = 0; i < count; ++i)
    if ((left -= weights[i]) < 0) return best[i];
  return best[count - 1];
}

/* ---- the model -------------------------------------------------------------------------------------------------- */

typedef struct model {
  opd_vm *vm;
  opd_array *weights;
  opd_kv_state *cache;
  opd_cancel_token *cancel;
  int64_t vocabulary;
  double us; /* of all passes */
} model;

static char *join(const char *directory, const char *name) {
  size_t size = strlen(directory) + strlen(name) + 2;
  char *path = malloc(size);
  if (path) snprintf(path, size, "%s/%s", directory, name);
  return path;
}

static opd_value call(const model *m, const char *function, const opd_value *args, int count) {
  opd_value result;
  check(opd_vm_call(m->vm, function, args, count, NULL, &result), function);
  return result;
}

/* All tensors of the file, in its order, as the program takes them. */
static void load_weights(model *m, const char *path) {
  opd_params *params;
  check(opd_params_open(path, NULL, &params), path);
  const int32_t count = opd_params_count(params);
  opd_value *items = malloc((size_t)count * sizeof *items);
  for (int32_t i = 0; i < count; ++i) {
    opd_tensor *tensor;
    check(opd_params_get(params, opd_params_name(params, i), &tensor), path);
    items[i] = opd_value_of_object(tensor);
  }
  m->vocabulary = opd_tensor_view((const opd_tensor *)items[0].u.object)->shape[0];
  check(opd_array_create(items, count, &m->weights), path);
  for (int32_t i = 0; i < count; ++i) opd_value_release(&items[i]);
  free(items);
  opd_params_release(params);
}

static model load_model(const char *directory) {
  model m = {0};
  char *program = join(directory, "tiny_llama.so"), *weights = join(directory, "weights.npz");
  opd_module *module;
  check(opd_module_load(program, NULL, &module), program);
  check(opd_vm_create(module, NULL, &m.vm), program);
  opd_module_release(module);
  load_weights(&m, weights);
  /* Sequences, tokens of all of them, tokens in a pass, tokens in a page (as the kernels have it), windows. */
  const int64_t sizes[] = {SEQUENCES, PREFIX + SEQUENCES * 64, MOST_ROWS, PAGE, 0};
  opd_value args[5];
  for (int i = 0; i < 5; ++i) {
    opd_shape *shape;
    check(opd_shape_create(&sizes[i], 1, &shape), "making a shape");
    args[i] = opd_value_of_object(shape);
  }
  opd_value cache = call(&m, "create_paged_kv_cache", args, 5);
  check(opd_kv_state_from_value(&cache, &m.cache), "making the cache");
  check(opd_cancel_token_create(&m.cancel), "making a token");
  opd_value_release(&cache);
  for (int i = 0; i < 5; ++i) opd_value_release(&args[i]);
  free(program), free(weights);
  return m;
}

/* Tokens as the program takes them: [1, count, size], or [count, 1, size] if each belongs to another sequence. */
static opd_tensor *embed(const model *m, const int32_t *tokens, int64_t count, int decodes) {
  const DLDevice cpu = {kDLCPU, 0};
  const DLDataType int32 = {kDLInt, 32, 1};
  opd_tensor *ids, *shaped;
  check(opd_tensor_create(&count, 1, int32, cpu, &ids), "making a tensor");
  check(opd_tensor_copy_from_bytes(ids, tokens, (size_t)count * sizeof *tokens), "copying tokens");
  const opd_value args[] = {opd_value_of_object(ids), opd_value_of_object(m->weights)};
  opd_value embedded = call(m, "embed", args, 2);
  opd_tensor *tensor = (opd_tensor *)embedded.u.object;
  const int64_t dims[] = {decodes ? count : 1, decodes ? 1 : count, opd_tensor_view(tensor)->shape[1]};
  check(opd_tensor_reshape(tensor, dims, 3, &shaped), "reshaping");
  opd_value_release(&embedded);
  opd_tensor_release(ids);
  return shaped;
}

/* Appends tokens to some sequences, as many to each. Writes the logits of each one's last token. Returns 0 if the pass
 * was cancelled: then the cache is as it was. */
static int compute(model *m, const char *function, const int64_t *ids, int num_ids, const int32_t *tokens, int64_t each,
                   float *logits) {
  const int64_t rows = num_ids * each;
  int64_t counts[SEQUENCES];
  for (int i = 0; i < num_ids; ++i) counts[i] = each;
  const double begin = now_us();
  opd_tensor *x = embed(m, tokens, rows, strcmp(function, "decode") == 0);
  const opd_value args[] = {opd_value_of_object(x), opd_value_of_object(m->cache), opd_value_of_object(m->weights)};
  opd_call_options options;
  opd_value result, item;
  opd_call_options_init(&options);
  options.cancel = m->cancel;
  check(opd_kv_state_begin(m->cache, ids, (size_t)num_ids, counts, (size_t)num_ids, NULL, 0), "beginning a pass");
  opd_error *error = opd_vm_call(m->vm, function, args, 3, &options, &result);
  check(opd_kv_state_end(m->cache, error == NULL), "ending a pass");
  opd_tensor_release(x);
  if (error && opd_error_code(error) == OPD_CANCELLED) {
    opd_error_release(error);
    return 0;
  }
  check(error, function);
  m->us += now_us() - begin;
  check(opd_array_get((const opd_array *)result.u.object, 0, &item), "reading logits");
  const float *all = opd_tensor_view((const opd_tensor *)item.u.object)->data;
  for (int i = 0; i < num_ids; ++i)
    memcpy(logits + i * m->vocabulary, all + ((i + 1) * each - 1) * m->vocabulary,
           (size_t)m->vocabulary * sizeof *logits);
  opd_value_release(&item);
  opd_value_release(&result);
  return 1;
}

/* ---- a client who leaves ---------------------------------------------------------------------------------------- */

typedef struct leaving {
  opd_cancel_token *token;
  int calls;
} leaving;

/* Called around each operator. Cancels in the second layer, when the first one has the new rows already. A server would
 * cancel on another thread. */
static opd_error *cancel_within(void *user_data, const opd_value *args, int32_t num_args, opd_value *out_result) {
  static const char suffix[] = "attention_with_fused_qkv";
  leaving *it = user_data;
  const char *name = num_args > 2 ? args[1].u.cstring : "";
  const size_t length = strlen(name), end = sizeof suffix - 1;
  if (length >= end && strcmp(name + length - end, suffix) == 0 && args[2].u.int64 && ++it->calls == 2)
    opd_cancel_token_cancel(it->token);
  *out_result = opd_int(OPD_INSTRUMENT_NO_OP);
  return NULL;
}

static int64_t length_of(const opd_kv_state *cache, int64_t id) {
  opd_map *lengths;
  opd_value key = opd_int(id), length;
  check(opd_kv_state_lengths((opd_kv_state *)cache, &lengths), "reading lengths");
  check(opd_map_get(lengths, &key, &length), "reading a length");
  opd_map_release(lengths);
  return length.u.int64;
}

/* The client of the last sequence leaves while a pass runs. The pass is undone. */
static void leave(model *m, const int64_t *ids, const int32_t *last, float *logits) {
  int64_t before[SEQUENCES];
  leaving it = {m->cancel, 0};
  opd_function *instrument;
  for (int i = 0; i < SEQUENCES; ++i) before[i] = length_of(m->cache, i);
  check(opd_function_create(cancel_within, &it, NULL, &instrument), "making a function");
  check(opd_vm_set_instrument(m->vm, instrument), "instrumenting");
  int is_same = !compute(m, "decode", ids, SEQUENCES, last, 1, logits);
  check(opd_vm_set_instrument(m->vm, NULL), "instrumenting");
  for (int i = 0; i < SEQUENCES; ++i) is_same &= before[i] == length_of(m->cache, i);
  printf("cancelled within a pass; the cache is as it was: %s\n", is_same ? "True" : "False");
  opd_cancel_token_reset(m->cancel);
  opd_function_release(instrument);
  check(opd_kv_state_remove(m->cache, SEQUENCES - 1), "removing a sequence");
}

/* ---- generation ------------------------------------------------------------------------------------------------- */

/* A prefix, computed once, and a prompt for each of the sequences that share it. */
static void prefill(model *m, uint64_t *randoms, const int64_t *ids, float *logits) {
  int32_t prefix[PREFIX], prompts[SEQUENCES * PROMPT];
  uint64_t first = SEED + SEQUENCES, others = SEED + SEQUENCES + 1;
  for (int i = 0; i < PREFIX; ++i) prefix[i] = (int32_t)(next_random(i ? &others : &first) % (uint64_t)m->vocabulary);
  for (int i = 0; i < SEQUENCES * PROMPT; ++i)
    prompts[i] = (int32_t)(next_random(&randoms[i / PROMPT]) % (uint64_t)m->vocabulary);
  check(opd_kv_state_add(m->cache, 0), "adding a sequence");
  compute(m, "prefill", ids, 1, prefix, PREFIX, logits);
  for (int i = 1; i < SEQUENCES; ++i) /* full pages are shared */
    check(opd_kv_state_fork(m->cache, 0, i, -1), "forking a sequence");
  compute(m, "prefill", ids, SEQUENCES, prompts, PROMPT, logits);
  opd_kv_stats stats = {0};
  stats.struct_size = sizeof stats;
  check(opd_kv_state_get_stats(m->cache, &stats), "reading how full the cache is");
  printf("prefill: %d tokens once, then %d x %d: %.2f ms; %lld pages in use, %d fewer than without sharing\n", PREFIX,
         SEQUENCES, PROMPT, m->us * 1e-3, (long long)(stats.num_pages - stats.free_pages),
         PREFIX / PAGE * (SEQUENCES - 1));
}

static void generate(model *m, int32_t written[SEQUENCES][TOKENS]) {
  uint64_t randoms[SEQUENCES];
  int64_t ids[SEQUENCES];
  int32_t last[SEQUENCES];
  int live = SEQUENCES, decoded = 0, lengths[SEQUENCES];
  float *logits = malloc((size_t)(SEQUENCES * m->vocabulary) * sizeof *logits);
  for (int i = 0; i < SEQUENCES; ++i) randoms[i] = SEED + (uint64_t)i, ids[i] = i, lengths[i] = 0;
  prefill(m, randoms, ids, logits);
  m->us = 0;
  for (int step = 0; step < TOKENS; ++step) {
    if (step == CANCELLED_AFTER) leave(m, ids, last, logits), --live;
    if (step > 0) compute(m, "decode", ids, live, last, 1, logits), decoded += live;
    for (int i = 0; i < live; ++i)
      written[i][lengths[i]++] = last[i] = sample(logits + i * m->vocabulary, m->vocabulary, &randoms[i]);
  }
  printf("decode: %d tokens, %.0f tokens/s\n", decoded, decoded / (m->us * 1e-6));
  for (int i = 0; i < SEQUENCES; ++i) {
    printf("sequence %d:", i);
    for (int k = 0; k < lengths[i]; ++k) printf(" %d", (int)written[i][k]);
    printf("\n");
  }
  free(logits);
}

/* ---- where the time of a token goes -------------------------------------------------------------------------------
 */

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values) {
  qsort(values, MEASURED, sizeof *values, compare_doubles);
  return (values[MEASURED / 2 - 1] + values[MEASURED / 2]) / 2;
}

/* A column of the recorded calls: numbers or texts. */
static opd_array *column(const opd_report *report, const char *name) {
  opd_array *cells;
  check(opd_report_get_column(report, OPD_REPORT_CALLS, name, &cells, NULL), name);
  return cells;
}

static opd_value cell(const opd_array *column, size_t row) {
  opd_value value;
  check(opd_array_get(column, row, &value), "reading a cell");
  return value;
}

/* Adds the time of each recorded call to its pass; the passes' calls have the number of their run. */
static void divide(const opd_report *report, double *operators, double *attention, double *caches_own) {
  static const char builtins[] = "vm.builtin.", caches[] = "vm.builtin.attention_kv_cache_";
  opd_array *names = column(report, "Name"), *times = column(report, "Self (us)"), *runs = column(report, "Run"),
            *depths = column(report, "Depth");
  int64_t run = -1;
  int pass = -1;
  for (int32_t row = 0; row < opd_array_count(names); ++row) {
    opd_value name = cell(names, row), time = cell(times, row), of = cell(runs, row), depth = cell(depths, row);
    const char *text;
    size_t size;
    check(opd_string_get(&name, &text, &size), "reading a name");
    if (of.type == OPD_INT && of.u.int64 != run) run = of.u.int64, ++pass;
    const double us = time.type == OPD_INT ? (double)time.u.int64 : time.u.float64;
    if (pass >= 0 && pass < MEASURED && text[0] != '(') {
      if (strncmp(text, caches, sizeof caches - 1) == 0) caches_own[pass] += us;
      else if (depth.type == OPD_INT) attention[pass] += us; /* within a call of the cache */
      else if (strncmp(text, builtins, sizeof builtins - 1) != 0) operators[pass] += us;
    }
    opd_value_release(&name), opd_value_release(&time), opd_value_release(&of), opd_value_release(&depth);
  }
  opd_array_release(names), opd_array_release(times), opd_array_release(runs), opd_array_release(depths);
}

/* Decodes the same token again and again: each pass is taken back. */
static void decode_again(const model *m, opd_tensor *x, int num_ids, double *whole, double *bookkeeping) {
  const opd_value args[] = {opd_value_of_object(x), opd_value_of_object(m->cache), opd_value_of_object(m->weights)};
  const int64_t ids[] = {0, 1, 2, 3}, ones[] = {1, 1, 1, 1};
  for (int i = 0; i < MEASURED; ++i) {
    const double begin = now_us();
    check(opd_kv_state_begin(m->cache, ids, (size_t)num_ids, ones, (size_t)num_ids, NULL, 0), "beginning a pass");
    const double begun = now_us();
    opd_value result = call(m, "decode", args, 3);
    const double computed = now_us();
    check(opd_kv_state_end(m->cache, 0), "ending a pass");
    const double end = now_us();
    opd_value_release(&result);
    whole[i] = end - begin;
    bookkeeping[i] = end - begin - (computed - begun);
  }
}

static void profile(const model *m, int32_t written[SEQUENCES][TOKENS]) {
  enum { PARTS = 4, LIVE = SEQUENCES - 1 };
  static const char *const names[PARTS] = {"operators", "attention", "cache bookkeeping", "dispatch"};
  static double whole[MEASURED], bookkeeping[MEASURED], operators[MEASURED], attention[MEASURED], unused[MEASURED],
      caches_own[MEASURED];
  int32_t last[LIVE];
  opd_profile_options options;
  opd_report *report;
  for (int i = 0; i < LIVE; ++i) last[i] = written[i][TOKENS - 1];
  opd_tensor *x = embed(m, last, LIVE, 1);
  decode_again(m, x, LIVE, whole, bookkeeping);
  opd_profile_options_init(&options);
  options.details = 1;
  check(opd_vm_profile_start(m->vm, &options), "recording");
  decode_again(m, x, LIVE, unused, unused); /* since recording takes time, too */
  check(opd_vm_profile_stop(m->vm, &report, NULL), "recording");
  divide(report, operators, attention, caches_own);
  const double all = median(whole);
  double parts[PARTS] = {median(operators), median(attention), median(bookkeeping) + median(caches_own), 0};
  parts[3] = fmax(0, all - parts[0] - parts[1] - parts[2]);
  printf("per token of %d sequences: %.1f us\n", LIVE, all);
  for (int i = 0; i < PARTS; ++i) printf("  %-17s %7.1f us  %5.1f%%\n", names[i], parts[i], 100 * parts[i] / all);
  opd_report_release(report);
  opd_tensor_release(x);
}

int main(int argc, char **argv) {
  static int32_t written[SEQUENCES][TOKENS];
  model m = load_model(argc > 1 ? argv[1] : "examples/tiny_llama/model");
  generate(&m, written);
  profile(&m, written);
  opd_cancel_token_release(m.cancel);
  opd_kv_state_release(m.cache);
  opd_array_release(m.weights);
  opd_vm_release(m.vm);
  return 0;
}

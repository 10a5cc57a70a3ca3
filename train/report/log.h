/* The trainer's log: one JSON object a line, flushed line by line. An "epoch" event an epoch, and a "done"
 * event at the end of a codec's run, with the same keys but epoch_bytes; with --codec auto a "choice" event
 * for each choice. Each rank has its own:
 *
 * - event, codec (as on the command line), model, data, learners, batch, seed, epoch (from 1)
 * - loss: mean over the epoch's samples, each before its step; done: of the last epoch; null: a
 *   learner had no finite gradient
 * - error: on the test set after the epoch, as a fraction; test_loss: its mean loss
 * - ranks, rank, plan, down (as on the command line)
 * - bytes: of whole frames, sent by one learner since the start of the run; down_bytes: received from the
 *   mean's owner, or with plan async by a worker from the server
 * - epoch_bytes: bytes of this epoch
 * - ratio: dense f32 bytes by bytes of whole frames, in this epoch; done: in the run
 * - sent: share of the elements that were sent; counted on every tenth exchange
 * - ratio_by_kind, sent_by_kind: ratio and sent for each kind of slice that there is
 * - residual_norm: root of the mean over learners of their residual's squared norm
 * - link: this rank's traffic with others in this epoch (done: in the run): out, in: bytes; messages: sent
 * - steps, skipped: taken, and skipped because a gradient was not finite; with --local-steps exchanges, and
 *   skipped ones with the steps that learners left out; with plan async as many steps as there are batches in
 *   what was pushed, and skipped counts a learner's part of a batch
 * - async: with plan async, in rank 0's log: pushes; staleness: by how many updates the weights had changed
 * since they were pulled when a push was taken, on average (15 or more count as 15), and its histogram from 0
 * on; ahead: the most pushes of one worker beyond the slowest one's when it got work; waiting: seconds from
 * push to pull, over all workers
 * - seconds: compute (gradients, optimizer), pack (with the check), swap, unpack; wait: by how much an
 * exchange went on after all gradients were there, less than pack, swap and unpack with --overlap; wall: all,
 * tests included
 * - command: the line that began the program, as a shell takes it
 *
 * With --probe also "probe" events, in the log of the rank that has the first learner, with epoch and step
 * (since the start of the run) and
 *
 * - arrived: arrival.h's slope, cosine and drift, over the steps since the last probe; with one rank only
 * - layers: layer_probe.h's statistics of each slice of weights, for the first learner and this step; none if
 *   it was skipped. slice (counted from 0, biases included), kind, codec; sent: share of the elements;
 *   bin_sent: elements sent by bin, null: the codec has none; error: squared distance of the decoded frame by
 *   squared length; variance: of normalised coordinates; and of gradient, arrived (the frame, decoded),
 *   residual (if the codec keeps one) and clipped (if it clips: TernGrad) p50, p90, p95, p99, p99.9 and max
 *   of the absolute values, zeros (their share), and histogram: 41 counts from -max to max, equally wide.
 *   clip_length: clipped's length by the gradient's; clip_cosine: of the angle between the two
 *
 * During a run the last line is a "step" event, which the next event overwrites, with epoch and step: the one
 * that this rank has begun (from 0, since the start of the run). A run that fails leaves a "failed" event
 * instead, with the reason. A pipe has "failed" events only.
 *
 * A "choice" event has step (its first, from 0), chosen (plan, down, up), seconds of a step: measured (with
 * the choice before), predicted, raw (predicted, without a codec), compute (of measured); link: rate in bits
 * a second and latency in seconds, null: none; and script, a --codec that takes the run's steps as they were
 * until now.
 *
 * A "lost" event, with plan async, has epoch and step, and lost: the rank that the server goes on without.
 *
 * A "divided" event says that the run goes on, after this epoch and step, with another number of ranks or
 * learners: from: ranks, learners, before.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LOG_H
#define LOG_H
#include "train/options/options.h"
#include "train/report/arrival.h"
#include "train/report/layer_probe.h"
#include "train/report/report.h"

#include <stdio.h>

struct crumb_tuned; /* tuner.h */

/* The file, and the fields that all events of one codec's run share. */
struct log {
	FILE *file; /* NULL: no log, and all calls succeed */
	char path[4096];
	const struct options *options;
	char *command; /* the command line, as a shell takes it */
	unsigned rank, ranks;
	bool begun; /* until then the file may be another run's, and stays as it is */
	long end;   /* end of the last permanent line; -1: the file cannot be written in place */
};

/* All return 0, or -1 with a line in why, which names the file. */
int log_open(struct log *log, const struct options *options, unsigned rank, unsigned ranks, char *why,
             size_t cap);
/* Begins a log; an earlier one that the file has is lost. -1 if the file has something else. */
int log_begin(struct log *log, char *why, size_t cap);
/* Begins a log where there is no checkpoint to go on from; -1 if the file is no log, or has the end of a run
 * or an epoch above `most`, to which a run may come without one. */
int log_begin_anew(struct log *log, size_t most, char *why, size_t cap);
/* Goes on at the byte where the log once ended, or at the beginning of an empty file; 0: at the file's end.
 * -1 if the file is not that log. */
int log_resume(struct log *log, long end, char *why, size_t cap);

/* Writes what was logged to the disk, as before a checkpoint that says how long the log is. */
int log_settle(struct log *log, char *why, size_t cap);
int log_step(struct log *log, const char *codec, size_t epoch, size_t step, char *why, size_t cap);
/* arrived may be NULL. */
int log_probe(struct log *log, const char *codec, size_t epoch, size_t step, const struct arrived *arrived,
              const struct layer_probe *layer, size_t layers, char *why, size_t cap);
int log_epoch(struct log *log, const char *codec, const struct report *epoch, char *why, size_t cap);
int log_done(struct log *log, const char *codec, const struct report *run, char *why, size_t cap);
int log_divided(struct log *log, const char *codec, size_t epoch, size_t step, size_t learners,
                unsigned ranks, char *why, size_t cap);
int log_lost(struct log *log, const char *codec, size_t epoch, size_t step, unsigned rank, char *why,
             size_t cap);
int log_choice(struct log *log, const char *codec, const struct crumb_tuned *choice, char *why, size_t cap);
/* Logs that the run ended at this step; ignores errors. */
void log_failed(struct log *log, const char *codec, size_t step, const char *reason);
int log_close(struct log *log, char *why, size_t cap);

#endif

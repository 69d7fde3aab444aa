// Signals of the system that raise alarms.
#pragma once

namespace opd {

// While an object lives, the process handles the signal. When the last object ends, the former handler is restored. The
// signal does nothing if no alarm is armed; without the handler it might end the process.
class AlarmSignal {
 public:
  // `signal`: 0 (none) or a signal that passed check_alarm_signal(). Throws OPD_FAILED_PRECONDITION if the program
  // handles it.
  explicit AlarmSignal(int signal);
  ~AlarmSignal();
  AlarmSignal(const AlarmSignal &) = delete;

 private:
  const int signal_;
};

// Throws OPD_INVALID_ARGUMENT if the signal cannot be handled, or reports a fault of the program.
void check_alarm_signal(int signal);

}  // namespace opd

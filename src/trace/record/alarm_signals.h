// Signals of the system that raise alarms.
#pragma once

namespace opd {

// While an object lives, the process handles the signal; after the last one, the former handler is restored. If the
// signal comes while no alarm is armed, it does nothing; without the handler it might end the process.
class AlarmSignal {
 public:
  // 0: none; others have passed check_alarm_signal(). Throws OPD_FAILED_PRECONDITION if the program handles the signal.
  explicit AlarmSignal(int signal);
  ~AlarmSignal();
  AlarmSignal(const AlarmSignal &) = delete;

 private:
  const int signal_;
};

// Throws OPD_INVALID_ARGUMENT if the signal cannot be handled, or says that the program is broken.
void check_alarm_signal(int signal);

}  // namespace opd

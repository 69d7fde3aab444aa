// Signals of the system that raise alarms.
#pragma once

namespace opd {

// While one lives, the process handles the signal; after the last one, it is as it was. A signal that comes while no
// alarm is armed does nothing, where it might end the process.
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

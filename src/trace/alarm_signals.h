// Handlers of the signals that raise alarms. For trace/ only.
#pragma once

namespace opd {

// The process handles the signal until each hold was released; then it is as it was. Throws as check_alarm_signal(),
// and OPD_FAILED_PRECONDITION if the program handles it.
void hold_alarm_signal(int signal);
void release_alarm_signal(int signal) noexcept;

void raise_alarms(int signal) noexcept;  // of all slots that listen to it; by its handler

}  // namespace opd

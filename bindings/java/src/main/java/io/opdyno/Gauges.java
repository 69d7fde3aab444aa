package io.opdyno;

import java.lang.management.ManagementFactory;
import javax.management.InstanceAlreadyExistsException;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.ObjectName;
import javax.management.StandardMBean;

/**
 * Registers the memory of devices as JMX gauges, which jconsole, VisualVM and metric exporters show. This class needs
 * the JDK's module java.management.
 */
public final class Gauges {
  private Gauges() {}

  /** Registers a {@link MemoryMXBean} for the memory of a device. Does nothing if the device is registered already. */
  public static ObjectName register(Device device) {
    device.memoryStats(); // if the device is absent, this throws now instead of at the first read
    ObjectName name = nameOf(device);
    try {
      ManagementFactory.getPlatformMBeanServer().registerMBean(new StandardMBean(new Memory(device), MemoryMXBean.class, true), name);
    } catch (InstanceAlreadyExistsException there) {
      return name;
    } catch (JMException refused) {
      throw new IllegalStateException("JMX does not take " + name, refused);
    }
    return name;
  }

  /** Removes the gauges of a device. Does nothing if the device is not registered. */
  public static void unregister(Device device) {
    ObjectName name = nameOf(device);
    try {
      ManagementFactory.getPlatformMBeanServer().unregisterMBean(name);
    } catch (InstanceNotFoundException absent) {
      return;
    } catch (JMException refused) {
      throw new IllegalStateException("JMX does not let go of " + name, refused);
    }
  }

  private static ObjectName nameOf(Device device) {
    try {
      return new ObjectName("io.opdyno:type=Memory,device=" + ObjectName.quote(device.toString()));
    } catch (JMException wrong) {
      throw new AssertionError("a quoted name is well-formed", wrong);
    }
  }

  private record Memory(Device device) implements MemoryMXBean {
    @Override
    public String getDevice() {
      return device.toString();
    }

    @Override
    public long getLiveBytes() {
      return device.memoryStats().liveBytes();
    }

    @Override
    public long getPeakBytes() {
      return device.memoryStats().peakBytes();
    }

    @Override
    public long getReservedBytes() {
      return device.memoryStats().reservedBytes();
    }

    @Override
    public long getIdleBytes() {
      return device.memoryStats().idleBytes();
    }

    @Override
    public long getAllocCount() {
      return device.memoryStats().allocCount();
    }

    @Override
    public long getPoolHitCount() {
      return device.memoryStats().poolHitCount();
    }

    @Override
    public void resetPeak() {
      device.resetPeak();
    }

    @Override
    public void trim() {
      device.trim();
    }
  }
}

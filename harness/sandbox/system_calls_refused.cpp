#include "sandbox/system_call_rules.hpp"

#include <cerrno>

namespace prenorm::sandbox {

Rule refused(const Setting& setting) {
  Rule permission{
      "what needs a permission",
      fails(EPERM),
      {CALL(perf_event_open), CALL(name_to_handle_at), CALL(syslog), CALL(shmget), CALL(msgget),
       CALL(semget), CALL(mq_open), CALL(fanotify_init), CALL(personality), CALL(setgroups),
       CALL(mknod), CALL(mknodat), CALL(capset), CALL(ioprio_set), CALL(process_madvise),
       CALL(process_mrelease), CALL(migrate_pages), CALL(move_pages), CALL(sched_setattr)}};
  if (setting.alone) {
    append(permission.calls, {CALL(truncate), CALL(pidfd_open), CALL(pidfd_send_signal),
                              CALL(sched_setscheduler), CALL(sched_setparam)});
  }
  if (!setting.keeps_inside()) {
    const auto self = static_cast<scmp_datum_t>(setting.self);
    append(permission.calls, {CALL(tkill), CALL(rt_sigqueueinfo), CALL(rt_tgsigqueueinfo),
                              CALL_IF(kill, "others", SCMP_A0(SCMP_CMP_NE, self)),
                              CALL_IF(tgkill, "others", SCMP_A0(SCMP_CMP_NE, self))});
  }
  return permission;
}

Rule violations() {
  return {"violations",
          ends,
          {CALL(ptrace),
           CALL(process_vm_readv),
           CALL(process_vm_writev),
           CALL(pidfd_getfd),
           CALL(kcmp),
           CALL(mount),
           CALL(umount2),
           CALL(pivot_root),
           CALL(chroot),
           CALL(move_mount),
           CALL(open_tree),
           CALL(fsopen),
           CALL(fsconfig),
           CALL(fsmount),
           CALL(fspick),
           CALL(mount_setattr),
           CALL(setns),
           CALL(unshare),
           CALL(bpf),
           CALL(userfaultfd),
           CALL(kexec_load),
           CALL(kexec_file_load),
           CALL(init_module),
           CALL(finit_module),
           CALL(delete_module),
           CALL(reboot),
           CALL(swapon),
           CALL(swapoff),
           CALL(acct),
           CALL(quotactl),
           CALL(settimeofday),
           CALL(clock_settime),
           CALL(iopl),
           CALL(ioperm),
           CALL(keyctl),
           CALL(add_key),
           CALL(request_key),
           CALL(open_by_handle_at),
           CALL(sethostname),
           CALL(setdomainname),
           CALL(modify_ldt),
           CALL(vhangup)}};
}

}  // namespace prenorm::sandbox

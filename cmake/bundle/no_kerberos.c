// Debian's libgit2 can log in to servers by Kerberos, of which there is no static library. Flor opens
// no server: here every such call fails.
#define FLOR_UNAVAILABLE(name) \
  unsigned name(void) { return 16u << 16; /* GSS_S_UNAVAILABLE */ }
FLOR_UNAVAILABLE(gss_delete_sec_context)
FLOR_UNAVAILABLE(gss_display_status)
FLOR_UNAVAILABLE(gss_import_name)
FLOR_UNAVAILABLE(gss_indicate_mechs)
FLOR_UNAVAILABLE(gss_init_sec_context)
FLOR_UNAVAILABLE(gss_release_buffer)
FLOR_UNAVAILABLE(gss_release_name)
FLOR_UNAVAILABLE(gss_release_oid_set)
void* GSS_C_NT_HOSTBASED_SERVICE = 0;

#!/bin/bash
# A real S3 server on loopback: Ceph's RADOS gateway with one monitor and one disk in a file.
#
#   s3_server.sh up DIRECTORY PORT     prints the endpoint when it answers; status 77: not installed
#                                      PORT + 41 is the same over HTTPS, by DIRECTORY/ca.pem
#   s3_server.sh down DIRECTORY        ends the three processes that `up` began
#
# Access key FLORKEY, secret florsecret123. Buckets are also hosts: BUCKET.localhost. Debian: radosgw
# ceph-mon ceph-osd ceph-common openssl.
set -u
action=$1
directory=$(realpath -m "$2")
export CEPH_CONF=$directory/ceph.conf

stop() {
  for name in client.rgw osd.0 mon.a; do
    pid=$(cat "$directory/$name.pid" 2>/dev/null) || continue
    # Only what this directory's configuration was given to.
    if tr '\0' ' ' <"/proc/$pid/environ" 2>/dev/null | grep -qF "CEPH_CONF=$CEPH_CONF"; then
      kill "$pid" 2>/dev/null
      for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
      kill -9 "$pid" 2>/dev/null
    fi
  done
}

# An authority of its own, and a certificate of it for the server.
certify() {
  local names=subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:*.localhost
  openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=Flor's tests" \
    -addext basicConstraints=critical,CA:TRUE -keyout "$directory/ca.key" -out "$directory/ca.pem" &&
    openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout "$directory/server.key" \
      -out "$directory/server.csr" &&
    openssl x509 -req -days 30 -in "$directory/server.csr" -CA "$directory/ca.pem" \
      -CAkey "$directory/ca.key" -CAcreateserial -extfile <(echo "$names") -out "$directory/server.pem"
}

configure() {
  local port=$1
  cat >"$CEPH_CONF" <<END
[global]
fsid = 6f0c7a52-5d0e-4b6e-9c3a-8d1f2b3c4d5e
mon_host = [v2:127.0.0.1:$((port + 1)),v1:127.0.0.1:$((port + 2))]
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
# Without keys the encrypted mode of the messenger never gets through its handshake.
ms_mon_client_mode = crc
ms_mon_service_mode = crc
ms_mon_cluster_mode = crc
ms_client_mode = crc
ms_service_mode = crc
ms_cluster_mode = crc
ms_bind_ipv6 = false
ms_bind_port_min = $((port + 3))
ms_bind_port_max = $((port + 40))
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 4
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
osd_objectstore = bluestore
bluestore_block_size = 4294967296
osd_memory_target = 939524096
run_dir = $directory
admin_socket = $directory/\$name.asok
log_file = $directory/\$name.log
pid_file = $directory/\$name.pid
[mon.a]
mon_data = $directory/mon
[osd.0]
osd_data = $directory/osd
[client.rgw]
# Without tcp_nodelay each small answer waits 40 ms for an acknowledgement.
rgw_frontends = beast endpoint=127.0.0.1:$port tcp_nodelay=1 ssl_endpoint=127.0.0.1:$((port + 41)) ssl_certificate=$directory/server.pem ssl_private_key=$directory/server.key
rgw_data = $directory/rgw
rgw_dns_name = localhost
END
}

start() {
  local port=$1 identity
  mkdir -p "$directory"/{mon,osd,rgw}
  configure "$port"
  certify || return 1
  monmaptool --create --clobber \
    --addv a "[v2:127.0.0.1:$((port + 1)),v1:127.0.0.1:$((port + 2))]" \
    --fsid 6f0c7a52-5d0e-4b6e-9c3a-8d1f2b3c4d5e "$directory/monmap" &&
    ceph-mon --mkfs -i a --monmap "$directory/monmap" && ceph-mon -i a || return 1
  identity=$(cat /proc/sys/kernel/random/uuid)
  timeout 60 ceph osd new "$identity" && ceph-osd -i 0 --mkfs --osd-uuid "$identity" &&
    ceph-osd -i 0 || return 1
  for _ in $(seq 120); do
    timeout 5 ceph osd stat | grep -q '1 up' && break
    sleep 0.5
  done
  timeout 120 radosgw-admin -n client.rgw user create --uid=flor --display-name=flor \
    --access-key=FLORKEY --secret-key=florsecret123 || return 1
  radosgw -n client.rgw || return 1
  for _ in $(seq 240); do
    # The gateway answers anonymous requests with a list of no buckets.
    python3 - "$port" 2>/dev/null <<'END' && return 0
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=5)
connection.request("GET", "/")
sys.exit(0 if connection.getresponse().status == 200 else 1)
END
    sleep 0.5
  done
  return 1
}

case $action in
up)
  for tool in radosgw radosgw-admin ceph-mon ceph-osd ceph monmaptool openssl; do
    command -v "$tool" >/dev/null || { echo "no $tool: install radosgw ceph-mon ceph-osd ceph-common openssl" >&2; exit 77; }
  done
  mkdir -p "$directory"
  if start "$3" >"$directory/start.log" 2>&1; then
    echo "http://127.0.0.1:$3"
  else
    tail -5 "$directory/start.log" >&2
    stop
    exit 1
  fi
  ;;
down) stop ;;
*) echo "usage: s3_server.sh up DIRECTORY PORT | down DIRECTORY" >&2; exit 2 ;;
esac

#include "simulator/platform/platform.h"

#include <fmt/format.h>

#include "common/error.h"

namespace transload {
namespace {

namespace s4u = simgrid::s4u;

// Stands for "costs no time"; finite because SimGrid wants a rate.
constexpr double kFreeRate = 1e24;
constexpr double kHostSpeed = 1e9;  // no operation computes

s4u::Engine* make_engine(double precision_s) {
  // SimGrid reports on stderr; only what ends the process shall be heard.
  static char program[] = "transload";
  static char quiet[] = "--log=root.thresh:critical";
  static char* arguments[] = {program, quiet, nullptr};
  int count = 2;
  auto* engine = new s4u::Engine(&count, arguments);
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/crosstraffic:0");   // no tax for acknowledgements
  s4u::Engine::set_config("network/TCP-gamma", 1e30);  // no cap by window / round trip
#if SIMGRID_VERSION >= 33400UL
  s4u::Engine::set_config("precision/timing", precision_s);
#else
  s4u::Engine::set_config("surf/precision", precision_s);
#endif
  return engine;
}

// Names of the zone interface differ between SimGrid's major versions.
s4u::NetZone* make_zone([[maybe_unused]] s4u::Engine* engine) {
#if SIMGRID_VERSION >= 40000UL
  return engine->get_netzone_root()->add_netzone_star("ports");
#else
  return s4u::create_star_zone("ports");
#endif
}

s4u::Host* make_host(s4u::NetZone* zone, const std::string& name) {
#if SIMGRID_VERSION >= 40000UL
  return zone->add_host(name, kHostSpeed);
#else
  return zone->create_host(name, kHostSpeed);
#endif
}

s4u::Link* make_link(s4u::NetZone* zone, const std::string& name, double rate) {
#if SIMGRID_VERSION >= 40000UL
  return zone->add_link(name, rate)->set_latency(0)->seal();
#else
  return zone->create_link(name, rate)->set_latency(0)->seal();
#endif
}

s4u::Host* add_link_host(const Plan& plan, std::uint32_t link, LinkDuty duty, double units_per_byte,
                         s4u::NetZone* zone) {
  const std::string name = fmt::format("link{}", link);
  const auto rate = static_cast<double>(link_achieved_rate(plan, link)) * units_per_byte;
  s4u::Host* const host = make_host(zone, name);
  s4u::Link* const wire = make_link(zone, name + ".wire", rate > 0 ? rate : kFreeRate);
  const std::vector<s4u::LinkInRoute> route = {s4u::LinkInRoute(wire)};
  auto* const point = host->get_netpoint();
  if (duty == LinkDuty::kSends) {
    zone->add_route(point, nullptr, nullptr, nullptr, route, false);
    zone->add_route(point, point, nullptr, nullptr, route, true);
  } else {
    zone->add_route(nullptr, point, nullptr, nullptr, route, false);
  }
  return host;
}

}  // namespace

std::vector<LinkDuty> link_duties(const Plan& plan) {
  std::vector<LinkDuty> duties(plan.link_kind.size(), LinkDuty::kUnused);
  const auto note = [&](std::int32_t port, LinkDuty duty) {
    if (port < 0) return;
    const std::uint32_t link = plan.port_link[static_cast<std::size_t>(port)];
    if (duties[link] != LinkDuty::kUnused && duties[link] != duty)
      throw InputError(
          fmt::format("link {} ({}) has ports that send and ports that receive; expected "
                      "one link for each direction",
                      link, plan_name(plan, plan.link_name[link])));
    duties[link] = duty;
  };
  for (OpId op = 0; op < plan.operations(); ++op) {
    const OpKind kind = op_kind(plan, op);
    if (kind != OpKind::kCopy && kind != OpKind::kTransfer) continue;
    note(plan.op_out_port[op], LinkDuty::kSends);
    note(plan.op_in_port[op], LinkDuty::kReceives);
  }
  return duties;
}

Platform::Platform(const Plan& plan, double units_per_byte, double precision_s)
    : engine_(make_engine(precision_s)), host_of_port_(plan.ports(), nullptr) {
  s4u::NetZone* const zone = make_zone(engine_);
  const std::vector<LinkDuty> duties = link_duties(plan);
  std::vector<s4u::Host*> host_of_link(duties.size(), nullptr);
  for (std::uint32_t link = 0; link < duties.size(); ++link)
    if (duties[link] != LinkDuty::kUnused)
      host_of_link[link] = add_link_host(plan, link, duties[link], units_per_byte, zone);
  zone->seal();
  for (std::size_t port = 0; port < plan.ports(); ++port)
    host_of_port_[port] = host_of_link[plan.port_link[port]];
}

}  // namespace transload

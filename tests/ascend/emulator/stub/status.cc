// CANN(_ZN2ge13StatusFactory8InstanceEv): the one C++ object that the plugin uses while it loads
#define _GLIBCXX_USE_CXX11_ABI 0
#include <cstdint>
#include <map>
#include <string>
namespace ge {
struct StatusFactory {
  std::map<uint32_t, std::string> texts;
  char more[512];
  static StatusFactory *Instance();
};
StatusFactory *StatusFactory::Instance() {
  static StatusFactory *s = new StatusFactory();
  return s;
}
}  // namespace ge
